/** Configurations operators find in print, as they stand. */
export const IP_HASH: string = `example.com {
    reverse_proxy backend-1:3000 backend-2:3000 backend-3:3000 {
        lb_policy ip_hash
        health_uri      /healthz
        health_interval 10s
        health_timeout  3s
    }
}
`;

export const BEHIND_A_PROXY: string = `{
    servers {
        trusted_proxies static 10.0.0.0/24
    }
}
example.com {
    reverse_proxy backend-1:3000 backend-2:3000 {
        lb_policy ip_hash
    }
}
`;

export const COOKIE: string = `example.com {
    reverse_proxy backend-1:3000 backend-2:3000 {
        lb_policy cookie {
            name     caddy_session
            secret   "production-secret-key-must-be-long-and-unique-once"
            # cookie_lifetime 3600
        }
        # header_down Set-Cookie "caddy_session; Path=/; Secure; HttpOnly; SameSite=Strict"
    }
}
`;
