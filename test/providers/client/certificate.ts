/**
 * A certificate for provider.test that nobody but these tests trusts: signed by itself, valid from 2020 on for a
 * hundred years.
 */

export const certificate = `-----BEGIN CERTIFICATE-----
MIIBbDCCAROgAwIBAgIBATAKBggqhkjOPQQDAjAYMRYwFAYDVQQDDA1wcm92aWRl
ci50ZXN0MCAXDTIwMDEwMTAwMDAwMFoYDzIxMjAwMTAxMDAwMDAwWjAYMRYwFAYD
VQQDDA1wcm92aWRlci50ZXN0MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE9v0s
zO+NCN7oJ0z8yGFdwD8yVWIuG+S4c/X48VXKuq5/vKUHI6giILSu3UiWBK4ncRWJ
0Mg13DY0vzBloFdxQKNMMEowGAYDVR0RBBEwD4INcHJvdmlkZXIudGVzdDAPBgNV
HRMBAf8EBTADAQH/MB0GA1UdDgQWBBQr6ILjoTKGjdsQkdB5E7FggO/fHDAKBggq
hkjOPQQDAgNHADBEAh8/wGt5BIjwXXklilCuGokuScOsjK2UgeRFOWtEVzPmAiEA
pdyz91cVVeDePIeS4SpmB+VpbnkW1N6xtndkdD6nSYg=
-----END CERTIFICATE-----
`;

/** Made for these tests and of no worth beyond them. */
export const privateKey = `-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgstuu4MEDld+rXBni
xyvfcDcRr8GZ1j/gCFk7CZvj/ZyhRANCAAT2/SzM740I3ugnTPzIYV3APzJVYi4b
5Lhz9fjxVcq6rn+8pQcjqCIgtK7dSJYEridxFYnQyDXcNjS/MGWgV3FA
-----END PRIVATE KEY-----
`;
