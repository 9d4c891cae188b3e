"""Signing in by an OIDC provider: OpenID Connect Core 1.0, code flow with PKCE."""
