/** Whether a provider takes a key: its list of models is read, which costs nothing and wants the key. */
import type { ModelFailure } from '../model.ts';
import type { ProviderCall, ProviderHttp } from '../client.ts';

/** `headers` carry the key. The head of the answer tells; its body is not looked at. */
export function tryKey(http: ProviderHttp, baseUrl: string, headers: Readonly<Record<string, string>>): Promise<ModelFailure | null> {
  return new Promise((resolve) => {
    const call: ProviderCall = http.get(
      { baseUrl, path: '/models', headers: { ...headers, accept: 'application/json' } },
      {
        head(contentType) {
          call.release();
          // A page, as a server of something else has for every path, says nothing of the key.
          resolve(/^application\/(?:[\w.-]+\+)?json\b/.test(contentType) ? null : 'malformed');
        },
        data() {},
        ended() {},
        failed: resolve,
      },
    );
  });
}
