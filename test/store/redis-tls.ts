/** A Redis over TLS for tests: a certificate made at run time, and another that no server shows. */
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { temporaryFolder, type Owner } from '../folders.ts';
import { appendOnly, onFreePort, RedisServer } from './redis-server.ts';

/** Why there is no certificate to be had, or false. */
export function whyNoTls(): string | false {
  try {
    execFileSync('openssl', ['version'], { stdio: 'ignore' });
    return false;
  } catch {
    return 'openssl is not installed here';
  }
}

/** Makes `NAME.pem` and `NAME.key`: a certificate for 127.0.0.1 that is its own authority. */
export function certificateIn(folder: string, name: string): { readonly certificate: string; readonly key: string } {
  const [certificate, key] = [join(folder, `${name}.pem`), join(folder, `${name}.key`)];
  const request = ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2', '-subj', `/CN=${name}`];
  execFileSync('openssl', [...request, '-addext', 'subjectAltName=IP:127.0.0.1', '-keyout', key, '-out', certificate], { stdio: 'ignore' });
  return { certificate, key };
}

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
    const started = await RedisServer.start(...appendOnly, '--tls-port', String(port), ...files, '--tls-auth-clients', 'no', ...settings);
    return [started, port] as const;
  });
  t.teardown(() => server.stop());
  return { url: `rediss://127.0.0.1:${port}`, port, authority: own.certificate, stranger: other.certificate, server };
}
