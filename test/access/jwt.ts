/** JWTs as a site's server makes them, right and wrong. */
import { createHmac } from 'node:crypto';

const part = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url');

export function jwt(secret: string, claims: object, header: { readonly alg: string } = { alg: 'HS256' }): string {
  const signed = `${part({ typ: 'JWT', ...header })}.${part(claims)}`;
  const digest = { HS256: 'sha256', HS512: 'sha512' }[header.alg];
  return `${signed}.${digest === undefined ? '' : createHmac(digest, secret).update(signed).digest('base64url')}`;
}
