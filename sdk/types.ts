// Generated from the OpenAPI document 6baa284722fff22dad461a0c3be6e03b: npm run types.
export interface paths {
    "/healthz": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Whether the API answers
         * @description For monitors and load balancers. Needs no token.
         */
        get: operations["getHealth"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/docs": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * This reference, for people
         * @description The page that you may be reading: made from the OpenAPI document, complete without script or a second request.
         */
        get: operations["getDocs"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/edge/domains": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the domains
         * @description Every domain of your project, oldest first (then by hostname). With `limit`, a page: while more follow, the Link header (RFC 8288) leads to the next one with `rel="next"`.
         */
        get: operations["listDomains"];
        put?: never;
        /**
         * Register a hostname
         * @description Claims the hostname for your project. Idempotent: registering it again answers with the existing record, with the new metadata merged into the old (top-level keys; the newer value wins). A hostname belongs to one project at a time.
         */
        post: operations["registerDomain"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/edge/domains/{hostname}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Show a domain
         * @description The domain with how its DNS and its certificate stand, and the records that the owner of the hostname adds (`dns.expected`).
         */
        get: operations["showDomain"];
        put?: never;
        post?: never;
        /**
         * Remove a domain
         * @description Gives the hostname up: within a second it is no longer served, and anybody may claim it. Its certificate is kept for 30 days, so that registering it again costs no new one.
         */
        delete: operations["removeDomain"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/edge/domains/{hostname}/certificate/history": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Show what became of a domain's certificate orders
         * @description The last 20 attempts to obtain the certificate, newest first, each with the authority's problem document in full.
         */
        get: operations["listOrders"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/edge/domains/{hostname}/check": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Check a domain's DNS now
         * @description Looks the hostname up and answers with what was found, instead of waiting for the background check. No body is needed. At most once in two seconds a hostname: sooner, the last findings come back. While you look, the background check runs every two seconds.
         */
        post: operations["checkDomain"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/edge/resolve": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Resolve a hostname
         * @description The project, the upstream and your metadata for a hostname of your project, verified or not. Answered from memory; a change is seen within a second. Send the ETag back as If-None-Match and an unchanged answer costs no body.
         */
        get: operations["resolveHostname"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/openapi.json": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * This description, for programs
         * @description OpenAPI 3.1: feed it to a generator of clients, or to a validator.
         */
        get: operations["getOpenApiDocument"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
}
export type webhooks = Record<string, never>;
export interface components {
    schemas: {
        /**
         * Domain
         * @description The record by which a project holds a hostname.
         */
        Domain: {
            /**
             * Format: date-time
             * @description When the hostname was registered.
             * @example 2026-11-21T09:30:00.000Z
             */
            createdAt: string;
            /**
             * @description A fully-qualified domain name: ASCII (punycode for international names), lower case, without a final dot.
             * @example shop.customer.com
             */
            hostname: string;
            /**
             * @description Your own JSON object, at most 16 KB. It comes back exactly as you sent it: key order and number notation included.
             * @example {
             *       "customer": 42,
             *       "theme": "dark"
             *     }
             */
            metadata: {
                [key: string]: unknown;
            };
            /**
             * @description Slug of the project that holds the hostname.
             * @example acme
             */
            projectSlug: string;
            /** @description False at registration; true once the DNS check has found the record. */
            verified: boolean;
            /** @description When the DNS check first found the record; null while unverified. */
            verifiedAt: string | null;
        };
        /**
         * DomainDetails
         * @description A domain with its DNS and its certificate.
         */
        DomainDetails: {
            /** @description How the certificate of the hostname stands. */
            certificate: {
                /** @description Attempts since the last success. */
                attempts: number;
                /** @description Who issued it. */
                issuer: string | null;
                /** @description When the last attempt began. */
                lastAttemptAt: string | null;
                /** @description Why the last attempt failed; null once one has succeeded. */
                lastError: {
                    /** @description The authority's own problem document (RFC 8555), in full. */
                    problem: {
                        [key: string]: unknown;
                    };
                    /** @description Why, for people. */
                    sentence: string;
                } | null;
                /** @description When the next attempt is due. */
                nextAttemptAt: string | null;
                /** @description When a limit of the certificate authority lets the next order be sent; null when none holds it back. */
                nextIssuanceAt: string | null;
                /** @description Which limit that is, and what to do. */
                nextIssuanceReason: string | null;
                /** @description Valid until. */
                notAfter: string | null;
                /** @description Valid from. */
                notBefore: string | null;
                /** @description Ordered from an authority, or brought by the operator; null while there is none. */
                origin: ("ordered" | "imported") | null;
                /** @description When it is renewed; of an imported one its end, for no order replaces it before. */
                renewAt: string | null;
                /** @description Serial number, hexadecimal. */
                serial: string | null;
                /**
                 * @description `issued` stays while a renewal is under way or has failed.
                 * @enum {unknown}
                 */
                state: "none" | "pending" | "issued" | "failed";
            };
            /**
             * Format: date-time
             * @description When the hostname was registered.
             * @example 2026-11-21T09:30:00.000Z
             */
            createdAt: string;
            /** @description How the DNS of the hostname stands. */
            dns: {
                /** @description When the last check ended; null before the first. */
                checkedAt: string | null;
                /** @description One more record, which is not needed: with it the certificate is issued before the hostname leads here. Null where this installation has no DNS zone. */
                delegation: {
                    /** @example _acme-challenge.shop.customer.com */
                    name: string;
                    /** @description The same for the owner of the hostname. Show it as it is. */
                    sentence: string;
                    /**
                     * @description What the last check found; `elsewhere` is a CNAME of another name.
                     * @enum {unknown}
                     */
                    state: "present" | "absent" | "elsewhere" | "unknown";
                    /** @enum {string} */
                    type: "CNAME";
                    /** @description The project's own name for this hostname's challenges. */
                    value: string;
                } | null;
                /** @description The records that the owner of the hostname adds. */
                expected: {
                    /** @example shop.customer.com */
                    name: string;
                    /** @enum {unknown} */
                    type: "CNAME" | "A" | "AAAA" | "TXT";
                    value: string;
                }[];
                /** @description The records that the check found, in the order in which they were followed. */
                found: {
                    /** @example shop.customer.com */
                    name: string;
                    /** @enum {unknown} */
                    type: "CNAME" | "A" | "AAAA" | "TXT";
                    value: string;
                }[];
                /** @description When the next check is due; null when none is planned. */
                nextCheckAt: string | null;
                /** @description The same for the owner of the hostname: which record is wrong, and what to change. Show it as it is. */
                sentence: string;
                /**
                 * @description What the last check found.
                 * @enum {unknown}
                 */
                state: "verified" | "absent" | "wrong-target" | "wrong-case" | "typo-in-target" | "doubled-host" | "missing-final-dot" | "value-in-txt" | "proxied" | "apex-not-pointing" | "mixed-addresses" | "stale-aaaa" | "target-is-portal" | "loop" | "lame-delegation" | "servers-disagree" | "dnssec-bogus" | "edge-host-broken" | "proof-needed" | "unknown";
                /** @description What will be in the way, beside the state. */
                warnings: {
                    /** @enum {unknown} */
                    kind: "caa-forbids" | "aaaa-elsewhere";
                    sentence: string;
                }[];
            };
            /**
             * @description A fully-qualified domain name: ASCII (punycode for international names), lower case, without a final dot.
             * @example shop.customer.com
             */
            hostname: string;
            /**
             * @description Your own JSON object, at most 16 KB. It comes back exactly as you sent it: key order and number notation included.
             * @example {
             *       "customer": 42,
             *       "theme": "dark"
             *     }
             */
            metadata: {
                [key: string]: unknown;
            };
            /**
             * @description Slug of the project that holds the hostname.
             * @example acme
             */
            projectSlug: string;
            /** @description False at registration; true once the DNS check has found the record. */
            verified: boolean;
            /** @description When the DNS check first found the record; null while unverified. */
            verifiedAt: string | null;
        };
        /** Health */
        Health: {
            /** @enum {string} */
            status: "ok";
        };
        /**
         * OrderRecord
         * @description One attempt to obtain the certificate of a hostname.
         */
        OrderRecord: {
            /**
             * Format: date-time
             * @description When the attempt began.
             * @example 2026-11-21T09:30:00.000Z
             */
            beganAt: string;
            /** @description When it ended; null while it is under way. */
            endedAt: string | null;
            /** @description Why it failed; null unless it did. */
            error: {
                /** @description The authority's own problem document (RFC 8555), in full. */
                problem: {
                    [key: string]: unknown;
                };
                /** @description Why, for people. */
                sentence: string;
            } | null;
            /** @description Who issued it. */
            issuer: string | null;
            /** @description What was issued is valid until then. */
            notAfter: string | null;
            /**
             * @description `abandoned`: it never came to an end, or was overtaken. `imported`: the certificate was brought, not ordered.
             * @enum {unknown}
             */
            outcome: "under-way" | "issued" | "failed" | "abandoned" | "imported";
            /** @description Whether the hostname had a certificate already. */
            renewing: boolean;
            /** @description Serial number, hexadecimal. */
            serial: string | null;
        };
        /**
         * Problem
         * @description Every error (RFC 9457, application/problem+json).
         */
        Problem: {
            /**
             * @description The kind of problem, for programs. A code keeps its meaning for ever; new ones may be added.
             * @enum {unknown}
             */
            code: "hostname_invalid" | "hostname_reserved" | "wildcards_not_enabled" | "hostname_claimed" | "domain_not_found" | "metadata_invalid" | "body_invalid" | "query_invalid" | "token_invalid" | "token_not_found" | "plan_limit" | "plan_unknown" | "project_not_found" | "name_invalid" | "email_invalid" | "slug_invalid" | "slug_taken" | "upstream_invalid" | "upstream_forbidden" | "unsupported_media_type" | "payload_too_large" | "too_many_requests" | "route_not_found" | "method_not_allowed" | "request_malformed" | "database_unavailable" | "internal";
            /** @description What is wrong in this case, and what to do. */
            detail: string;
            /** @description Name it when you ask for help; the same as the X-Request-Id header. */
            requestId: string;
            /** @description The HTTP status. */
            status: number;
            /** @description The kind of problem, in words. */
            title: string;
            /**
             * Format: uri-reference
             * @description Where this kind of problem is explained.
             */
            type: string;
        };
        /**
         * Resolved
         * @description What a hostname stands for.
         */
        Resolved: {
            /**
             * @description The hostname that was asked for.
             * @example shop.customer.com
             */
            hostname: string;
            /**
             * @description Your own JSON object, at most 16 KB. It comes back exactly as you sent it: key order and number notation included.
             * @example {
             *       "customer": 42,
             *       "theme": "dark"
             *     }
             */
            metadata: {
                [key: string]: unknown;
            };
            /**
             * @description Slug of the project that holds the hostname.
             * @example acme
             */
            projectSlug: string;
            /**
             * Format: uri
             * @description The project's upstream.
             * @example https://app.example.com
             */
            upstreamUrl: string;
        };
    };
    responses: never;
    parameters: never;
    requestBodies: never;
    headers: never;
    pathItems: never;
}
export type $defs = Record<string, never>;
export interface operations {
    getHealth: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It answers. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Health"];
                };
            };
            /** @description `internal`: The service failed. */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    getDocs: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The page. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/html": string;
                };
            };
            /** @description `internal`: The service failed. */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    listDomains: {
        parameters: {
            query?: {
                /** @description Where the last page ended: follow the Link header instead of building this. */
                cursor?: string;
                /**
                 * @description At most so many domains, 1 to 1000. Everything by default.
                 * @example 100
                 */
                limit?: string;
                /**
                 * @description Only hostnames that contain this text.
                 * @example customer
                 */
                search?: string;
                /** @description Only verified, or only unverified domains. */
                verified?: "true" | "false";
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The domains. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Domain"][];
                };
            };
            /** @description `query_invalid`: A query parameter is not valid. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `token_invalid`: The token is not valid. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `internal`: The service failed. */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `database_unavailable`: The service cannot reach its database. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    registerDomain: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /**
                     * @description The hostname to claim. Upper case, a final dot and international characters are normalised.
                     * @example shop.customer.com
                     */
                    hostname: string;
                    /**
                     * @description Your own JSON object, at most 16 KB. It comes back exactly as you sent it: key order and number notation included.
                     * @example {
                     *       "customer": 42,
                     *       "theme": "dark"
                     *     }
                     */
                    metadata?: {
                        [key: string]: unknown;
                    };
                };
            };
        };
        responses: {
            /** @description The domain, new or as it was with its metadata merged. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Domain"];
                };
            };
            /** @description `body_invalid`: The body is not what this endpoint takes. `hostname_invalid`: The hostname is not valid. `hostname_reserved`: The hostname is reserved. `wildcards_not_enabled`: Wildcard hostnames are not enabled. `metadata_invalid`: The metadata is not valid. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `token_invalid`: The token is not valid. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `plan_limit`: The plan has no room for another domain. */
            402: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `hostname_claimed`: The hostname is already claimed. */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `payload_too_large`: The body is too large. */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `unsupported_media_type`: The body is not JSON. */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `internal`: The service failed. */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `database_unavailable`: The service cannot reach its database. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    showDomain: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The hostname, URL-encoded.
                 * @example shop.customer.com
                 */
                hostname: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The domain. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DomainDetails"];
                };
            };
            /** @description `hostname_invalid`: The hostname is not valid. `wildcards_not_enabled`: Wildcard hostnames are not enabled. `request_malformed`: The request is malformed. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `token_invalid`: The token is not valid. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `domain_not_found`: The hostname is not a domain of this project. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `internal`: The service failed. */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `database_unavailable`: The service cannot reach its database. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    removeDomain: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The hostname, URL-encoded.
                 * @example shop.customer.com
                 */
                hostname: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It is removed. */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description `hostname_invalid`: The hostname is not valid. `wildcards_not_enabled`: Wildcard hostnames are not enabled. `request_malformed`: The request is malformed. `body_invalid`: The body is not what this endpoint takes. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `token_invalid`: The token is not valid. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `domain_not_found`: The hostname is not a domain of this project. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `payload_too_large`: The body is too large. */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `unsupported_media_type`: The body is not JSON. */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `internal`: The service failed. */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `database_unavailable`: The service cannot reach its database. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    listOrders: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The hostname, URL-encoded.
                 * @example shop.customer.com
                 */
                hostname: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The attempts; none before the first. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OrderRecord"][];
                };
            };
            /** @description `hostname_invalid`: The hostname is not valid. `wildcards_not_enabled`: Wildcard hostnames are not enabled. `request_malformed`: The request is malformed. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `token_invalid`: The token is not valid. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `domain_not_found`: The hostname is not a domain of this project. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `internal`: The service failed. */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `database_unavailable`: The service cannot reach its database. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    checkDomain: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The hostname, URL-encoded.
                 * @example shop.customer.com
                 */
                hostname: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The domain, as it stands after the check. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DomainDetails"];
                };
            };
            /** @description `hostname_invalid`: The hostname is not valid. `wildcards_not_enabled`: Wildcard hostnames are not enabled. `request_malformed`: The request is malformed. `body_invalid`: The body is not what this endpoint takes. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `token_invalid`: The token is not valid. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `domain_not_found`: The hostname is not a domain of this project. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `payload_too_large`: The body is too large. */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `unsupported_media_type`: The body is not JSON. */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `internal`: The service failed. */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `database_unavailable`: The service cannot reach its database. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    resolveHostname: {
        parameters: {
            query: {
                /**
                 * @description The hostname to look up.
                 * @example shop.customer.com
                 */
                hostname: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description What the hostname stands for. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Resolved"];
                };
            };
            /** @description It is as your ETag says. */
            304: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description `query_invalid`: A query parameter is not valid. `hostname_invalid`: The hostname is not valid. `wildcards_not_enabled`: Wildcard hostnames are not enabled. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `token_invalid`: The token is not valid. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `domain_not_found`: The hostname is not a domain of this project. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `internal`: The service failed. */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `database_unavailable`: The service cannot reach its database. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    getOpenApiDocument: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The document. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        [key: string]: unknown;
                    };
                };
            };
            /** @description `internal`: The service failed. */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
}
