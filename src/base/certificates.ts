/** Node's error codes for a certificate that is not trusted, or that is for another host. */
export const isUntrusted = (code: string | undefined): boolean =>
  /^(?:DEPTH_ZERO_SELF_SIGNED_CERT|SELF_SIGNED_CERT_IN_CHAIN|UNABLE_TO_|CERT_|ERR_TLS_CERT)/.test(code ?? '');
