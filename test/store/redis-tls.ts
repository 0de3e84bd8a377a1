/** A Redis over TLS for tests: a certificate made at run time, and another that no server shows. */
import { temporaryFolder, type Owner } from '../folders.ts';
import { certificateIn } from '../tls.ts';
import { appendOnly, onFreePort, RedisServer } from './redis-server.ts';

export interface SecureRedis {
  /** `rediss://127.0.0.1:PORT` */
  readonly url: string;
  readonly port: number;
  /** The file of the authority that its certificate is trusted by. */
  readonly authority: string;
  /** The file of another authority. */
  readonly stranger: string;
  /** The same server without TLS. */
  readonly server: RedisServer;
}

/** `settings` are further ones of the server. */
export async function secureRedis(t: Owner, ...settings: string[]): Promise<SecureRedis> {
  const folder = await temporaryFolder(t);
  const [own, other] = [certificateIn(folder, 'own'), certificateIn(folder, 'other')];
  const files = ['--tls-cert-file', own.certificate, '--tls-key-file', own.key, '--tls-ca-cert-file', own.certificate];
  const [server, port] = await onFreePort(async (port) => {
    const started = await RedisServer.start(
      ...appendOnly,
      '--tls-port',
      String(port),
      ...files,
      '--tls-auth-clients',
      'no',
      ...settings,
    );
    return [started, port] as const;
  });
  t.teardown(() => server.stop());
  return { url: `rediss://127.0.0.1:${port}`, port, authority: own.certificate, stranger: other.certificate, server };
}
