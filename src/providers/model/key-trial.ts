/** Whether a provider takes a key: its list of models is read, which costs nothing and wants the key. */
import type { ModelFailure } from '../model.ts';
import type { ProviderRequest, ProviderHttp } from '../client.ts';

/** Failures of a server that may not have understood HTTP/1.1. */
const wordless: ReadonlySet<ModelFailure> = new Set(['connect', 'cut', 'malformed']);

/**
 * Statuses that ask for another version of HTTP: Upgrade Required, AWS's for an incompatible one, HTTP Version Not
 * Supported.
 */
const versionStatuses: ReadonlySet<number | null> = new Set([426, 464, 505]);

type Headers = Readonly<Record<string, string>>;

/** Resolves with null if the provider takes the key, else with the reason. `headers` carry the key. */
export async function tryKey(http: ProviderHttp, baseUrl: string, headers: Headers): Promise<ModelFailure | null> {
  const { failure, status } = await listModels(http, baseUrl, headers);
  const isWordless = failure !== null && (status === null ? wordless.has(failure) : versionStatuses.has(status));
  return isWordless && (await http.speaksHttp2(baseUrl)) ? 'http2' : failure;
}

interface Told {
  readonly failure: ModelFailure | null;
  /** The status that is the failure; null if none is. */
  readonly status: number | null;
}

/** The response's head decides; its body is not read. */
function listModels(http: ProviderHttp, baseUrl: string, headers: Headers): Promise<Told> {
  return new Promise((resolve) => {
    const call: ProviderRequest = http.get(
      { baseUrl, path: '/models', headers: { ...headers, accept: 'application/json' } },
      {
        head(contentType, _coding, { status }) {
          call.release();
          // A page, as a server of something else has for every path, says nothing of the key.
          resolve({ failure: /^application\/(?:[\w.-]+\+)?json\b/.test(contentType) ? null : 'malformed', status });
        },
        data() {},
        ended() {},
        failed: (failure, status) => resolve({ failure, status }),
      },
    );
  });
}
