//! How clients authenticate to an agent, as its card says (A2A §4.5).

use crate::proto::{message, union};
use std::collections::BTreeMap;

message! {
    /// A list of strings, where a map needs one.
    pub struct StringList {
        /// The strings.
        list: Vec<String> as "list" = 1;
    }

    /// Schemes that are needed together, each with its scopes.
    pub struct SecurityRequirement {
        /// Scopes by the scheme's name.
        schemes: BTreeMap<String, StringList> as "schemes" = 1;
    }

    /// An API key.
    pub struct APIKeySecurityScheme {
        /// A description for people.
        description: String as "description" = 1;
        /// `query`, `header` or `cookie`.
        location: String as "location" = 2 [required];
        /// The parameter's name.
        name: String as "name" = 3 [required];
    }

    /// HTTP authentication.
    pub struct HTTPAuthSecurityScheme {
        /// A description for people.
        description: String as "description" = 1;
        /// An IANA HTTP authentication scheme, e.g. `Bearer`.
        scheme: String as "scheme" = 2 [required];
        /// A hint such as `JWT`.
        bearer_format: String as "bearerFormat" = 3;
    }

    /// OAuth 2.0.
    pub struct OAuth2SecurityScheme {
        /// A description for people.
        description: String as "description" = 1;
        /// The one flow.
        flows: Option<OAuthFlows> as "flows" = 2 [required];
        /// RFC 8414 metadata.
        oauth2_metadata_url: String as "oauth2MetadataUrl" = 3;
    }

    /// OpenID Connect.
    pub struct OpenIdConnectSecurityScheme {
        /// A description for people.
        description: String as "description" = 1;
        /// The discovery document.
        open_id_connect_url: String as "openIdConnectUrl" = 2 [required];
    }

    /// Mutual TLS.
    pub struct MutualTlsSecurityScheme {
        /// A description for people.
        description: String as "description" = 1;
    }

    /// The authorization code flow.
    pub struct AuthorizationCodeOAuthFlow {
        /// The authorization endpoint.
        authorization_url: String as "authorizationUrl" = 1 [required];
        /// The token endpoint.
        token_url: String as "tokenUrl" = 2 [required];
        /// The endpoint for refreshing.
        refresh_url: String as "refreshUrl" = 3;
        /// Descriptions by scope.
        scopes: BTreeMap<String, String> as "scopes" = 4 [required];
        /// Whether PKCE is needed.
        pkce_required: bool as "pkceRequired" = 5;
    }

    /// The client credentials flow.
    pub struct ClientCredentialsOAuthFlow {
        /// The token endpoint.
        token_url: String as "tokenUrl" = 1 [required];
        /// The endpoint for refreshing.
        refresh_url: String as "refreshUrl" = 2;
        /// Descriptions by scope.
        scopes: BTreeMap<String, String> as "scopes" = 3 [required];
    }

    /// The implicit flow; deprecated by the protocol.
    pub struct ImplicitOAuthFlow {
        /// The authorization endpoint.
        authorization_url: String as "authorizationUrl" = 1;
        /// The endpoint for refreshing.
        refresh_url: String as "refreshUrl" = 2;
        /// Descriptions by scope.
        scopes: BTreeMap<String, String> as "scopes" = 3;
    }

    /// The password flow; deprecated by the protocol.
    pub struct PasswordOAuthFlow {
        /// The token endpoint.
        token_url: String as "tokenUrl" = 1;
        /// The endpoint for refreshing.
        refresh_url: String as "refreshUrl" = 2;
        /// Descriptions by scope.
        scopes: BTreeMap<String, String> as "scopes" = 3;
    }

    /// The device code flow.
    pub struct DeviceCodeOAuthFlow {
        /// The device authorization endpoint.
        device_authorization_url: String as "deviceAuthorizationUrl" = 1 [required];
        /// The token endpoint.
        token_url: String as "tokenUrl" = 2 [required];
        /// The endpoint for refreshing.
        refresh_url: String as "refreshUrl" = 3;
        /// Descriptions by scope.
        scopes: BTreeMap<String, String> as "scopes" = 4 [required];
    }
}

union! {
    /// One way to authenticate: exactly one of the members.
    pub enum SecurityScheme: scheme {
        /// An API key.
        ApiKey(APIKeySecurityScheme) as "apiKeySecurityScheme" / api_key_security_scheme = 1;
        /// HTTP authentication.
        HttpAuth(HTTPAuthSecurityScheme) as "httpAuthSecurityScheme" / http_auth_security_scheme = 2;
        /// OAuth 2.0.
        OAuth2(OAuth2SecurityScheme) as "oauth2SecurityScheme" / oauth2_security_scheme = 3;
        /// OpenID Connect.
        OpenIdConnect(OpenIdConnectSecurityScheme) as "openIdConnectSecurityScheme" / open_id_connect_security_scheme = 4;
        /// Mutual TLS.
        MutualTls(MutualTlsSecurityScheme) as "mtlsSecurityScheme" / mtls_security_scheme = 5;
    }
}

union! {
    /// An OAuth 2.0 flow: exactly one of the members.
    pub enum OAuthFlows: flow {
        /// The authorization code flow.
        AuthorizationCode(AuthorizationCodeOAuthFlow) as "authorizationCode" / authorization_code = 1;
        /// The client credentials flow.
        ClientCredentials(ClientCredentialsOAuthFlow) as "clientCredentials" / client_credentials = 2;
        /// The implicit flow; deprecated.
        Implicit(ImplicitOAuthFlow) as "implicit" / implicit = 3;
        /// The password flow; deprecated.
        Password(PasswordOAuthFlow) as "password" / password = 4;
        /// The device code flow.
        DeviceCode(DeviceCodeOAuthFlow) as "deviceCode" / device_code = 5;
    }
}
