/** Certificates that tests make at run time. */
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';

/** Returns the reason why no certificate can be made, or null. */
export function whyNoTls(): string | null {
  try {
    execFileSync('openssl', ['version'], { stdio: 'ignore' });
    return null;
  } catch {
    return 'openssl is not installed here';
  }
}

/** Files of PEM. */
export interface Certificate {
  readonly certificate: string;
  readonly key: string;
}

/** Makes `NAME.pem` and `NAME.key`: a certificate for 127.0.0.1 that is its own authority. */
export function certificateIn(folder: string, name: string): Certificate {
  const [certificate, key] = [join(folder, `${name}.pem`), join(folder, `${name}.key`)];
  const request = [
    'req',
    '-x509',
    '-newkey',
    'ec',
    '-pkeyopt',
    'ec_paramgen_curve:prime256v1',
    '-nodes',
    '-days',
    '2',
    '-subj',
    `/CN=${name}`,
  ];
  execFileSync('openssl', [...request, '-addext', 'subjectAltName=IP:127.0.0.1', '-keyout', key, '-out', certificate], {
    stdio: 'ignore',
  });
  return { certificate, key };
}
