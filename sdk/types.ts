// Generated from the OpenAPI document 4001f89f2578e040f5b6ae7ecf9ab802: npm run types.
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
    "/v1/auth/callback": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Exchange a sign-in link for a session
         * @description Spends the token of the link and sets the session cookie. The session sees the projects that its user belongs to at this moment, and those it makes itself.
         */
        post: operations["signIn"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/auth/magic-link": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Show whom a sign-in link signs in
         * @description Spends nothing: a page can ask its reader first whether this is who they are.
         */
        post: operations["showMagicLink"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/auth/me": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Show who is signed in
         * @description The user of the session, with the projects that the session sees.
         */
        get: operations["showUser"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/auth/request-magic-link": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Ask for a sign-in link
         * @description Mails a link that signs its reader in once, within 15 minutes. The answer is the same whether or not the address is known. Five links an address in 15 minutes.
         */
        post: operations["requestMagicLink"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/auth/sign-out": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Sign out
         * @description Ends the session: its cookie opens nothing from here on. Without a session there is nothing to do, and that is no error.
         */
        post: operations["signOut"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/connect": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Show how the hostname of a link stands
         * @description What its owner needs: the records to add, what was found instead, and how far it has come. Answers pages of any origin.
         */
        get: operations["showConnection"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/connect/check": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Check the DNS of the hostname of a link
         * @description Looks now, at most once in two seconds, and answers with what was found.
         */
        post: operations["checkConnection"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/connect/events": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Watch the hostname of a link
         * @description Server-sent events: `domain` with `hostname`, `verified` and `status`, within two seconds of a change. While it is open the DNS is looked at every two seconds, until the hostname is live and no warning is left.
         */
        get: operations["watchConnection"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/connect/mail": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Mail the records to whoever manages the DNS
         * @description Sends the records to add, the link, and a note of up to 1,000 characters. Five mails a link, and to one reader, in 15 minutes.
         */
        post: operations["mailInstructions"];
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
         * @description Every domain of your project, oldest first (then by hostname). With `limit`, a page: while more follow, the Link header (RFC 8288) leads to the next one with `rel="next"`. A hostname that is removed and claimed again while the list is read may be in it twice, or with `order=newest` not at all.
         */
        get: operations["listDomains"];
        put?: never;
        /**
         * Register a hostname
         * @description Claims the hostname for your project. Idempotent: registering it again answers with the existing record, with the new metadata merged into the old (top-level keys; the newer value wins). A hostname belongs to one project at a time. Where the operator has enabled it, a wildcard such as `*.customer.com` is one domain, which serves every name with one label in the place of the star; a name that you also register on its own has precedence.
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
    "/v1/edge/domains/{hostname}/certificate": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        /**
         * Bring a certificate of your own
         * @description Serves the hostname with a certificate that you obtained elsewhere, within a second. Nothing replaces it while it is valid; when it ends without another, one is ordered. It is refused, with every reason, when chain, key, names or dates do not fit. The key is kept sealed and never comes back.
         */
        put: operations["importCertificate"];
        post?: never;
        /**
         * Have a certificate ordered in place of your own
         * @description Hands the certificate back to the service: one is ordered as soon as the DNS leads here, and renewed from then on. The imported one serves until then. No body is needed.
         */
        delete: operations["orderInsteadOfImported"];
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
         * @description Looks the hostname up and answers with what was found, instead of waiting for the background check. No body is needed. At most once in two seconds a hostname, ten at once of one project: beyond that, the last findings come back. While you look, the background check runs every two seconds.
         */
        post: operations["checkDomain"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/edge/domains/{hostname}/link": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Make a link for the hostname's owner
         * @description A page that shows the record to add and how it stands, for your customer, who needs no account. It lives 30 days, and dies with the claim; the last twenty of a hostname work. No body is needed.
         */
        post: operations["linkDomain"];
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
         * @description The project, the upstream and your metadata for a hostname of your project, verified or not; a name under a wildcard that you hold stands for the same as the wildcard, unless you hold the name itself. Answered from memory; a change is seen within a second. Send the ETag back as If-None-Match and an unchanged answer costs no body.
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
    "/v1/portal/projects": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List your projects
         * @description The projects that this session sees, by name.
         */
        get: operations["listProjects"];
        put?: never;
        /**
         * Create a project
         * @description Makes a project that you own and see at once. Without a slug, one is made of the name. The upstream is tried at once; that it cannot be reached is a warning, not a refusal.
         */
        post: operations["createProject"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/portal/projects/{slug}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Show a project
         * @description A project that this session sees. One that you were invited to since you signed in shows after your next sign-in.
         */
        get: operations["showProject"];
        put?: never;
        post?: never;
        /**
         * Delete a project
         * @description Gives up a project that holds no domain. Its tokens are refused from then on, and its slug stays taken. For owners.
         */
        delete: operations["deleteProject"];
        options?: never;
        head?: never;
        /**
         * Change a project
         * @description Changes what is given and leaves the rest. For admins and owners. A new upstream holds on every machine within a second. A new CNAME target is looked up first. With the `ETag` of a former answer as `If-Match`, only what was seen is changed.
         */
        patch: operations["changeProject"];
        trace?: never;
    };
    "/v1/portal/projects/{slug}/activity": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List what happened to a project
         * @description Who changed what and when, newest first. While more follow, the Link header leads to the next page.
         */
        get: operations["listActivity"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/portal/projects/{slug}/domains": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the domains of a project
         * @description As `GET /v1/edge/domains`; with `details=status` each comes with its status.
         */
        get: operations["listPortalDomains"];
        put?: never;
        /**
         * Register a hostname in a project
         * @description As `POST /v1/edge/domains`.
         */
        post: operations["registerPortalDomain"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/portal/projects/{slug}/domains/{hostname}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Show a domain of a project
         * @description As `GET /v1/edge/domains/{hostname}`, with the status.
         */
        get: operations["showPortalDomain"];
        put?: never;
        post?: never;
        /**
         * Remove a domain of a project
         * @description As `DELETE /v1/edge/domains/{hostname}`.
         */
        delete: operations["removePortalDomain"];
        options?: never;
        head?: never;
        /**
         * Replace the metadata of a domain
         * @description Puts the new metadata in the place of the old, all of it; registering again merges instead. With the `ETag` of a former answer as `If-Match`, only what was seen is replaced.
         */
        patch: operations["changePortalDomain"];
        trace?: never;
    };
    "/v1/portal/projects/{slug}/domains/{hostname}/check": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Check the DNS of a domain now
         * @description As `POST /v1/edge/domains/{hostname}/check`, with the status.
         */
        post: operations["checkPortalDomain"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/portal/projects/{slug}/domains/{hostname}/link": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Make a link for a hostname's owner, from the portal
         * @description As `POST /v1/edge/domains/{hostname}/link`.
         */
        post: operations["linkPortalDomain"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/portal/projects/{slug}/domains/bulk": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Register many hostnames in a project
         * @description Claims each of up to 1,000 hostnames; one that is refused stops none of the others. Two lists a project at a time; who hangs up has the rest left alone.
         */
        post: operations["registerPortalDomains"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/portal/projects/{slug}/error-page": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Preview the error page
         * @description The page that visitors see while your application does not answer, with a hostname and a request id made up.
         */
        get: operations["previewErrorPage"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/portal/projects/{slug}/events": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Watch a project
         * @description Server-sent events within two seconds of a change: `domain` with `hostname`, `removed` and, unless it is removed, `verified`, `verifiedAt`, `createdAt` and `status`; `activity` when the activity list has grown.
         */
        get: operations["watchProject"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/portal/projects/{slug}/members": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the members of a project
         * @description Everybody who belongs to the project, those who have not signed in yet too.
         */
        get: operations["listMembers"];
        put?: never;
        /**
         * Invite somebody to a project
         * @description Makes the address a member and mails an invitation; the project shows at its next sign-in. Who is a member already gets the mail again and keeps the role. For admins; owners are invited by owners.
         */
        post: operations["inviteMember"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/portal/projects/{slug}/members/{email}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /**
         * Remove a member, or leave
         * @description Holds at once, in every session. Anybody may leave; admins remove members and admins, owners everybody. A project keeps at least one owner.
         */
        delete: operations["removeMember"];
        options?: never;
        head?: never;
        /**
         * Change the role of a member
         * @description Holds at once. For admins; only owners make and unmake owners. A project keeps at least one owner. With the `etag` of the member as `If-Match`, only the role that was seen is changed.
         */
        patch: operations["changeMember"];
        trace?: never;
    };
    "/v1/portal/projects/{slug}/tokens": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the tokens of a project
         * @description The active tokens and the 200 that were revoked last, oldest first, by name and hash: the tokens themselves are never shown again.
         */
        get: operations["listTokens"];
        put?: never;
        /**
         * Issue a token
         * @description The answer holds the token, this once. A project has up to 1,000 active tokens. For admins and owners.
         */
        post: operations["issueToken"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/portal/projects/{slug}/tokens/{tokenId}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /**
         * Revoke a token
         * @description Every machine refuses it within a second. Revoking twice is no error. For admins and owners.
         */
        delete: operations["revokeToken"];
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
         * Activity
         * @description A change to a project.
         */
        Activity: {
            /** @enum {unknown} */
            action: "project.created" | "project.changed" | "project.deleted" | "domain.claimed" | "domain.removed" | "domain.metadata-changed" | "domain.link-made" | "token.issued" | "token.revoked" | "member.invited" | "member.joined" | "member.role-changed" | "member.removed";
            /** @description Who did it; `operator`: somebody with the installation's command line. */
            actor: {
                email: string;
                /** @enum {string} */
                kind: "user";
            } | {
                /** @enum {string} */
                kind: "token";
                name: string;
                preview: string;
            } | {
                /** @enum {string} */
                kind: "operator";
            };
            /**
             * Format: date-time
             * @description When it happened.
             * @example 2026-11-21T09:30:00.000Z
             */
            at: string;
            detail: {
                [key: string]: unknown;
            };
            id: string;
            /** @description The hostname, address, token or slug that it was done to. */
            subject: string;
        };
        /**
         * BulkResult
         * @description What became of each hostname, in the order in which they were sent.
         */
        BulkResult: {
            results: {
                /** @description Why it was refused, for programs. */
                code?: string;
                /** @description Why it was refused, for people. */
                detail?: string;
                /** @description As it was sent. */
                hostname: string;
                /**
                 * @description `exists`: the project held it already.
                 * @enum {unknown}
                 */
                outcome: "claimed" | "exists" | "refused";
            }[];
        };
        /**
         * ChangedProject
         * @description A project, and what its upstream answered.
         */
        ChangedProject: {
            /** @description How its pages for customers look. */
            brand: {
                /**
                 * @description `#rrggbb`, or null.
                 * @example #1a56c4
                 */
                color: string | null;
                /**
                 * @description An https URL, or null.
                 * @example https://vendor.com/logo.svg
                 */
                logoUrl: string | null;
            };
            /**
             * @description A hostname of your own that your customers are told in place of the edge host; it leads there itself, as by a CNAME. null: the edge host.
             * @example customers.vendor.com
             */
            cnameTarget: string | null;
            /**
             * Format: date-time
             * @description When it was made.
             * @example 2026-11-21T09:30:00.000Z
             */
            createdAt: string;
            /** @description How many it holds. */
            domains: number;
            /**
             * @description What `cnameTarget` must lead to, and customers are told while it is null. Not in lists.
             * @example edge.example.com
             */
            edgeHost?: string;
            /**
             * @description HTML of at most 32 KB that visitors see while your application does not answer, with `{{hostname}}` and `{{requestId}}` filled in; null: our own page. Not in lists.
             * @example <!doctype html><title>Back soon</title><p>{{hostname}} is back soon. ({{requestId}})
             */
            errorPage?: string | null;
            /**
             * @description Friendly name, 1 to 80 characters.
             * @example Shop
             */
            name: string;
            plan: {
                /** @description null: no limit. */
                domainsMax: number | null;
                name: string;
            };
            /**
             * @description `member`: sees everything, manages domains. `admin`: also tokens, members and settings. `owner`: everything.
             * @enum {unknown}
             */
            role: "owner" | "admin" | "member";
            /**
             * @description The project's name in addresses, fixed once made.
             * @example shop
             */
            slug: string;
            /** @description What came back when the upstream was tried just now; there when its URL or protocol is new. Unreachable is only a warning. */
            upstreamCheck?: {
                /** @enum {string} */
                kind: "answered";
                status: number;
            } | {
                /** @enum {string} */
                kind: "unreachable";
                sentence: string;
            };
            /**
             * @description How it is spoken to. `http1`: HTTP/1.1. `h2`: HTTP/2 over TLS, for an https URL. `h2c`: HTTP/2 in plain text, for an http URL. gRPC needs one of the last two.
             * @enum {unknown}
             */
            upstreamProtocol: "http1" | "h2" | "h2c";
            /**
             * @description Where its application lives: an http(s) origin.
             * @example https://app.vendor.com
             */
            upstreamUrl: string;
        };
        /**
         * Connection
         * @description What the owner of a hostname sees.
         */
        Connection: {
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
                    /**
                     * @description `ALIAS`, which some providers call ANAME or a flattened CNAME, is expected at a domain itself where no addresses are set for it; never found. `DNAME`, which leads all names below its own elsewhere, is never expected.
                     * @enum {unknown}
                     */
                    type: "CNAME" | "DNAME" | "ALIAS" | "A" | "AAAA" | "TXT";
                    value: string;
                }[];
                /** @description The records that the check found, in the order in which they were followed; a wildcard record that is not right stands under its own name, `*.customer.com`. */
                found: {
                    /** @example shop.customer.com */
                    name: string;
                    /**
                     * @description `ALIAS`, which some providers call ANAME or a flattened CNAME, is expected at a domain itself where no addresses are set for it; never found. `DNAME`, which leads all names below its own elsewhere, is never expected.
                     * @enum {unknown}
                     */
                    type: "CNAME" | "DNAME" | "ALIAS" | "A" | "AAAA" | "TXT";
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
                state: "verified" | "absent" | "wrong-target" | "wrong-case" | "typo-in-target" | "doubled-host" | "missing-final-dot" | "value-in-txt" | "proxied" | "apex-not-pointing" | "mixed-addresses" | "stale-aaaa" | "target-is-portal" | "loop" | "lame-delegation" | "servers-disagree" | "dnssec-bogus" | "edge-host-broken" | "cname-target-broken" | "proof-needed" | "unknown";
                /** @description What will be in the way, beside the state. */
                warnings: {
                    /** @enum {unknown} */
                    kind: "caa-forbids" | "aaaa-elsewhere" | "cname-at-apex";
                    sentence: string;
                }[];
            };
            /**
             * Format: date-time
             * @description When the link ends.
             * @example 2026-11-21T09:30:00.000Z
             */
            expiresAt: string;
            /**
             * @description A fully-qualified domain name: ASCII (punycode for international names), lower case, without a final dot. Or a wildcard: `*.` before one.
             * @example shop.customer.com
             */
            hostname: string;
            /** @description Who asks for the record. */
            project: {
                /**
                 * @description `#rrggbb`, or null.
                 * @example #1a56c4
                 */
                color: string | null;
                /**
                 * @description An https URL, or null.
                 * @example https://vendor.com/logo.svg
                 */
                logoUrl: string | null;
                /**
                 * @description Friendly name, 1 to 80 characters.
                 * @example Shop
                 */
                name: string;
            };
            /** @description Who runs the DNS of the zone, by its name servers; null while that is not known, and once there is nothing to add. */
            provider: {
                /** @example cloudflare */
                id: string;
                /**
                 * @description As people know it.
                 * @example Cloudflare
                 */
                name: string;
            } | null;
            /**
             * @description How far the domain has come, in one word.
             * @enum {unknown}
             */
            status: "waiting-for-dns" | "wrong-record" | "verified" | "certificate-pending" | "certificate-failed" | "live";
            /** @description The domain in whose DNS the records are entered; null before the first check. */
            zone: string | null;
        };
        /**
         * ConnectLink
         * @description A link for the owner of a hostname, who needs no account.
         */
        ConnectLink: {
            /**
             * Format: date-time
             * @description When it ends; sooner if the claim does.
             * @example 2026-11-21T09:30:00.000Z
             */
            expiresAt: string;
            /** @description The page for the owner of the hostname. */
            url: string;
        };
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
             * @description A fully-qualified domain name: ASCII (punycode for international names), lower case, without a final dot. Or a wildcard: `*.` before one.
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
                /** @description Ordered from an authority, or brought by you or the operator; null while there is none. */
                origin: ("ordered" | "imported") | null;
                /** @description Why and when the certificate in hand is renewed; null while there is none. */
                renewal: {
                    /** @description When the authority last said when it wishes the renewal. */
                    ariCheckedAt: string | null;
                    /** @description Since when attempts to renew find the DNS leading elsewhere; null when the last one did not. */
                    dnsLeftAt: string | null;
                    /** @description The authority's page on why it wishes an earlier renewal. */
                    explanationUrl: string | null;
                    /**
                     * @description Why it is renewed at `renewAt`: `ari`, the authority wishes it (RFC 9773); `lifetime`, about two thirds of it have passed; `imported`, it ends then. `stopped`: it is not renewed any more.
                     * @enum {unknown}
                     */
                    plan: "ari" | "lifetime" | "imported" | "stopped";
                    /** @description The same for people, with what to do. */
                    sentence: string;
                    /** @description When renewal stopped. */
                    stoppedAt: string | null;
                } | null;
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
                    /**
                     * @description `ALIAS`, which some providers call ANAME or a flattened CNAME, is expected at a domain itself where no addresses are set for it; never found. `DNAME`, which leads all names below its own elsewhere, is never expected.
                     * @enum {unknown}
                     */
                    type: "CNAME" | "DNAME" | "ALIAS" | "A" | "AAAA" | "TXT";
                    value: string;
                }[];
                /** @description The records that the check found, in the order in which they were followed; a wildcard record that is not right stands under its own name, `*.customer.com`. */
                found: {
                    /** @example shop.customer.com */
                    name: string;
                    /**
                     * @description `ALIAS`, which some providers call ANAME or a flattened CNAME, is expected at a domain itself where no addresses are set for it; never found. `DNAME`, which leads all names below its own elsewhere, is never expected.
                     * @enum {unknown}
                     */
                    type: "CNAME" | "DNAME" | "ALIAS" | "A" | "AAAA" | "TXT";
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
                state: "verified" | "absent" | "wrong-target" | "wrong-case" | "typo-in-target" | "doubled-host" | "missing-final-dot" | "value-in-txt" | "proxied" | "apex-not-pointing" | "mixed-addresses" | "stale-aaaa" | "target-is-portal" | "loop" | "lame-delegation" | "servers-disagree" | "dnssec-bogus" | "edge-host-broken" | "cname-target-broken" | "proof-needed" | "unknown";
                /** @description What will be in the way, beside the state. */
                warnings: {
                    /** @enum {unknown} */
                    kind: "caa-forbids" | "aaaa-elsewhere" | "cname-at-apex";
                    sentence: string;
                }[];
            };
            /**
             * @description A fully-qualified domain name: ASCII (punycode for international names), lower case, without a final dot. Or a wildcard: `*.` before one.
             * @example shop.customer.com
             */
            hostname: string;
            /** @description The service's own requests to the hostname over HTTPS, made when its DNS or its certificate has changed. */
            live: {
                /** @description When one last came through; null while none has, since the DNS is right. */
                seenAt: string | null;
                /** @description Why the last ones did not, which may be for want of hairpin NAT, or which edge does not have the hostname yet; null while nothing is known against it. */
                sentence: string | null;
            };
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
            /** @description Who runs the DNS of the zone, by its name servers; null while that is not known, and once there is nothing to add. */
            provider: {
                /** @example cloudflare */
                id: string;
                /**
                 * @description As people know it.
                 * @example Cloudflare
                 */
                name: string;
            } | null;
            /** @description False at registration; true once the DNS check has found the record. */
            verified: boolean;
            /** @description When the DNS check first found the record; null while unverified. */
            verifiedAt: string | null;
            /** @description The domain in whose DNS the records are entered; null before the first check. */
            zone: string | null;
        };
        /** Health */
        Health: {
            /** @enum {string} */
            status: "ok";
        };
        /**
         * InstructionsSent
         * @description The mail is on its way.
         */
        InstructionsSent: {
            /** @enum {boolean} */
            sent: true;
        };
        /**
         * IssuedToken
         * @description A token that was just issued.
         */
        IssuedToken: {
            /**
             * Format: date-time
             * @description When it was issued.
             * @example 2026-11-21T09:30:00.000Z
             */
            createdAt: string;
            /** @example 12 */
            id: string;
            /** @description What it is for; may be empty. */
            name: string;
            /**
             * @description The beginning of the token's SHA-256: tells which it is, opens nothing.
             * @example sha256:0123456789ab…
             */
            preview: string;
            /** @description The token itself, this once. */
            token: string;
        };
        /**
         * LinkSent
         * @description A sign-in link is on its way.
         */
        LinkSent: {
            /** @description Where this local installation, which has no mail server, keeps its mail. */
            inbox?: string;
            /** @enum {boolean} */
            sent: true;
        };
        /**
         * MagicLink
         * @description A sign-in link that works.
         */
        MagicLink: {
            /**
             * @description An e-mail address; upper and lower case are the same, and so are both forms of an international domain, which is answered as the DNS has it.
             * @example ada@vendor.com
             */
            email: string;
        };
        /**
         * Member
         * @description Somebody who belongs to a project.
         */
        Member: {
            /**
             * @description An e-mail address; upper and lower case are the same, and so are both forms of an international domain, which is answered as the DNS has it.
             * @example ada@vendor.com
             */
            email: string;
            /**
             * @description What a change of the role takes as `If-Match`.
             * @example "8c6976e5b5410415bde908bd4dee15df"
             */
            etag: string;
            /**
             * Format: date-time
             * @description When they were invited.
             * @example 2026-11-21T09:30:00.000Z
             */
            invitedAt: string;
            /** @description When they signed in first; null before. */
            joinedAt: string | null;
            /**
             * @description `member`: sees everything, manages domains. `admin`: also tokens, members and settings. `owner`: everything.
             * @enum {unknown}
             */
            role: "owner" | "admin" | "member";
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
         * PortalDomain
         * @description A domain, with its status where it was asked for.
         */
        PortalDomain: {
            /**
             * Format: date-time
             * @description When the hostname was registered.
             * @example 2026-11-21T09:30:00.000Z
             */
            createdAt: string;
            /**
             * @description A fully-qualified domain name: ASCII (punycode for international names), lower case, without a final dot. Or a wildcard: `*.` before one.
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
             * @description How far the domain has come, in one word.
             * @enum {unknown}
             */
            status?: "waiting-for-dns" | "wrong-record" | "verified" | "certificate-pending" | "certificate-failed" | "live";
            /** @description False at registration; true once the DNS check has found the record. */
            verified: boolean;
            /** @description When the DNS check first found the record; null while unverified. */
            verifiedAt: string | null;
        };
        /**
         * PortalDomainDetails
         * @description A domain with its DNS, its certificate and its status.
         */
        PortalDomainDetails: {
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
                /** @description Ordered from an authority, or brought by you or the operator; null while there is none. */
                origin: ("ordered" | "imported") | null;
                /** @description Why and when the certificate in hand is renewed; null while there is none. */
                renewal: {
                    /** @description When the authority last said when it wishes the renewal. */
                    ariCheckedAt: string | null;
                    /** @description Since when attempts to renew find the DNS leading elsewhere; null when the last one did not. */
                    dnsLeftAt: string | null;
                    /** @description The authority's page on why it wishes an earlier renewal. */
                    explanationUrl: string | null;
                    /**
                     * @description Why it is renewed at `renewAt`: `ari`, the authority wishes it (RFC 9773); `lifetime`, about two thirds of it have passed; `imported`, it ends then. `stopped`: it is not renewed any more.
                     * @enum {unknown}
                     */
                    plan: "ari" | "lifetime" | "imported" | "stopped";
                    /** @description The same for people, with what to do. */
                    sentence: string;
                    /** @description When renewal stopped. */
                    stoppedAt: string | null;
                } | null;
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
                    /**
                     * @description `ALIAS`, which some providers call ANAME or a flattened CNAME, is expected at a domain itself where no addresses are set for it; never found. `DNAME`, which leads all names below its own elsewhere, is never expected.
                     * @enum {unknown}
                     */
                    type: "CNAME" | "DNAME" | "ALIAS" | "A" | "AAAA" | "TXT";
                    value: string;
                }[];
                /** @description The records that the check found, in the order in which they were followed; a wildcard record that is not right stands under its own name, `*.customer.com`. */
                found: {
                    /** @example shop.customer.com */
                    name: string;
                    /**
                     * @description `ALIAS`, which some providers call ANAME or a flattened CNAME, is expected at a domain itself where no addresses are set for it; never found. `DNAME`, which leads all names below its own elsewhere, is never expected.
                     * @enum {unknown}
                     */
                    type: "CNAME" | "DNAME" | "ALIAS" | "A" | "AAAA" | "TXT";
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
                state: "verified" | "absent" | "wrong-target" | "wrong-case" | "typo-in-target" | "doubled-host" | "missing-final-dot" | "value-in-txt" | "proxied" | "apex-not-pointing" | "mixed-addresses" | "stale-aaaa" | "target-is-portal" | "loop" | "lame-delegation" | "servers-disagree" | "dnssec-bogus" | "edge-host-broken" | "cname-target-broken" | "proof-needed" | "unknown";
                /** @description What will be in the way, beside the state. */
                warnings: {
                    /** @enum {unknown} */
                    kind: "caa-forbids" | "aaaa-elsewhere" | "cname-at-apex";
                    sentence: string;
                }[];
            };
            /**
             * @description A fully-qualified domain name: ASCII (punycode for international names), lower case, without a final dot. Or a wildcard: `*.` before one.
             * @example shop.customer.com
             */
            hostname: string;
            /** @description The service's own requests to the hostname over HTTPS, made when its DNS or its certificate has changed. */
            live: {
                /** @description When one last came through; null while none has, since the DNS is right. */
                seenAt: string | null;
                /** @description Why the last ones did not, which may be for want of hairpin NAT, or which edge does not have the hostname yet; null while nothing is known against it. */
                sentence: string | null;
            };
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
            /** @description Who runs the DNS of the zone, by its name servers; null while that is not known, and once there is nothing to add. */
            provider: {
                /** @example cloudflare */
                id: string;
                /**
                 * @description As people know it.
                 * @example Cloudflare
                 */
                name: string;
            } | null;
            /**
             * @description How far the domain has come, in one word.
             * @enum {unknown}
             */
            status: "waiting-for-dns" | "wrong-record" | "verified" | "certificate-pending" | "certificate-failed" | "live";
            /** @description False at registration; true once the DNS check has found the record. */
            verified: boolean;
            /** @description When the DNS check first found the record; null while unverified. */
            verifiedAt: string | null;
            /** @description The domain in whose DNS the records are entered; null before the first check. */
            zone: string | null;
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
            code: "hostname_invalid" | "hostname_reserved" | "wildcards_not_enabled" | "hostname_claimed" | "domain_not_found" | "metadata_invalid" | "certificate_invalid" | "body_invalid" | "query_invalid" | "token_invalid" | "token_not_found" | "session_required" | "magic_link_invalid" | "connect_link_invalid" | "cross_site" | "role_insufficient" | "member_not_found" | "last_owner" | "changed_meanwhile" | "project_not_empty" | "brand_invalid" | "error_page_invalid" | "cname_target_invalid" | "mail_unavailable" | "plan_limit" | "plan_unknown" | "project_not_found" | "name_invalid" | "email_invalid" | "slug_invalid" | "slug_taken" | "upstream_invalid" | "upstream_forbidden" | "unsupported_media_type" | "payload_too_large" | "rate_limited" | "route_not_found" | "method_not_allowed" | "request_malformed" | "database_unavailable" | "internal";
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
         * Project
         * @description A project as its members see it.
         */
        Project: {
            /** @description How its pages for customers look. */
            brand: {
                /**
                 * @description `#rrggbb`, or null.
                 * @example #1a56c4
                 */
                color: string | null;
                /**
                 * @description An https URL, or null.
                 * @example https://vendor.com/logo.svg
                 */
                logoUrl: string | null;
            };
            /**
             * @description A hostname of your own that your customers are told in place of the edge host; it leads there itself, as by a CNAME. null: the edge host.
             * @example customers.vendor.com
             */
            cnameTarget: string | null;
            /**
             * Format: date-time
             * @description When it was made.
             * @example 2026-11-21T09:30:00.000Z
             */
            createdAt: string;
            /** @description How many it holds. */
            domains: number;
            /**
             * @description What `cnameTarget` must lead to, and customers are told while it is null. Not in lists.
             * @example edge.example.com
             */
            edgeHost?: string;
            /**
             * @description HTML of at most 32 KB that visitors see while your application does not answer, with `{{hostname}}` and `{{requestId}}` filled in; null: our own page. Not in lists.
             * @example <!doctype html><title>Back soon</title><p>{{hostname}} is back soon. ({{requestId}})
             */
            errorPage?: string | null;
            /**
             * @description Friendly name, 1 to 80 characters.
             * @example Shop
             */
            name: string;
            plan: {
                /** @description null: no limit. */
                domainsMax: number | null;
                name: string;
            };
            /**
             * @description `member`: sees everything, manages domains. `admin`: also tokens, members and settings. `owner`: everything.
             * @enum {unknown}
             */
            role: "owner" | "admin" | "member";
            /**
             * @description The project's name in addresses, fixed once made.
             * @example shop
             */
            slug: string;
            /**
             * @description How it is spoken to. `http1`: HTTP/1.1. `h2`: HTTP/2 over TLS, for an https URL. `h2c`: HTTP/2 in plain text, for an http URL. gRPC needs one of the last two.
             * @enum {unknown}
             */
            upstreamProtocol: "http1" | "h2" | "h2c";
            /**
             * @description Where its application lives: an http(s) origin.
             * @example https://app.vendor.com
             */
            upstreamUrl: string;
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
        /**
         * Token
         * @description A token as listings show it.
         */
        Token: {
            /**
             * Format: date-time
             * @description When it was issued.
             * @example 2026-11-21T09:30:00.000Z
             */
            createdAt: string;
            /** @example 12 */
            id: string;
            /** @description When it was last used. */
            lastUsedAt: string | null;
            /** @description What it is for; may be empty. */
            name: string;
            /**
             * @description The beginning of the token's SHA-256: tells which it is, opens nothing.
             * @example sha256:0123456789ab…
             */
            preview: string;
            /** @description When it was revoked. */
            revokedAt: string | null;
        };
        /**
         * User
         * @description Somebody who is signed in.
         */
        User: {
            /**
             * @description An e-mail address; upper and lower case are the same, and so are both forms of an international domain, which is answered as the DNS has it.
             * @example ada@vendor.com
             */
            email: string;
            /** @description What this session sees. */
            projects: {
                /**
                 * @description Friendly name, 1 to 80 characters.
                 * @example Shop
                 */
                name: string;
                /**
                 * @description `member`: sees everything, manages domains. `admin`: also tokens, members and settings. `owner`: everything.
                 * @enum {unknown}
                 */
                role: "owner" | "admin" | "member";
                /**
                 * @description The project's name in addresses, fixed once made.
                 * @example shop
                 */
                slug: string;
            }[];
            /**
             * Format: date-time
             * @description When this session began.
             * @example 2026-11-21T09:30:00.000Z
             */
            signedInAt: string;
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
    signIn: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @description What stands behind #token= in the link. */
                    token: string;
                };
            };
        };
        responses: {
            /** @description Who is signed in now. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["User"];
                };
            };
            /** @description `body_invalid`: The body is not what this endpoint takes. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `magic_link_invalid`: The sign-in link is not valid. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `cross_site`: The request comes from another site. */
            403: {
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
            /** @description `rate_limited`: Too many requests. */
            429: {
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
    showMagicLink: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @description What stands behind #token= in the link. */
                    token: string;
                };
            };
        };
        responses: {
            /** @description The link works. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["MagicLink"];
                };
            };
            /** @description `body_invalid`: The body is not what this endpoint takes. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `magic_link_invalid`: The sign-in link is not valid. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `cross_site`: The request comes from another site. */
            403: {
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
            /** @description `rate_limited`: Too many requests. */
            429: {
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
    showUser: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Who is signed in. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["User"];
                };
            };
            /** @description `session_required`: There is no session. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `cross_site`: The request comes from another site. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `rate_limited`: Too many requests. */
            429: {
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
    requestMagicLink: {
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
                     * @description An e-mail address; upper and lower case are the same, and so are both forms of an international domain, which is answered as the DNS has it.
                     * @example ada@vendor.com
                     */
                    email: string;
                };
            };
        };
        responses: {
            /** @description The mail is on its way, if the address may sign in. */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LinkSent"];
                };
            };
            /** @description `body_invalid`: The body is not what this endpoint takes. `email_invalid`: The e-mail address is not valid. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `cross_site`: The request comes from another site. */
            403: {
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
            /** @description `rate_limited`: Too many requests. */
            429: {
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
            /** @description `mail_unavailable`: This installation cannot send mail. `database_unavailable`: The service cannot reach its database. */
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
    signOut: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Nobody is signed in. */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description `body_invalid`: The body is not what this endpoint takes. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `cross_site`: The request comes from another site. */
            403: {
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
    showConnection: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description How the hostname stands. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Connection"];
                };
            };
            /** @description `connect_link_invalid`: The connect link is not valid. */
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
            /** @description `rate_limited`: Too many requests. */
            429: {
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
    checkConnection: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description How the hostname stands. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Connection"];
                };
            };
            /** @description `body_invalid`: The body is not what this endpoint takes. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `connect_link_invalid`: The connect link is not valid. */
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
            /** @description `rate_limited`: Too many requests. */
            429: {
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
    watchConnection: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The events, until either side ends them. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/event-stream": string;
                };
            };
            /** @description `connect_link_invalid`: The connect link is not valid. */
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
            /** @description `rate_limited`: Too many requests. */
            429: {
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
    mailInstructions: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @description Your own words, up to 1,000 characters. */
                    note?: string;
                    /**
                     * @description An e-mail address; upper and lower case are the same, and so are both forms of an international domain, which is answered as the DNS has it.
                     * @example ada@vendor.com
                     */
                    to: string;
                };
            };
        };
        responses: {
            /** @description The mail is on its way. */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["InstructionsSent"];
                };
            };
            /** @description `body_invalid`: The body is not what this endpoint takes. `email_invalid`: The e-mail address is not valid. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `connect_link_invalid`: The connect link is not valid. */
            401: {
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
            /** @description `rate_limited`: Too many requests. */
            429: {
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
            /** @description `mail_unavailable`: This installation cannot send mail. `database_unavailable`: The service cannot reach its database. */
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
            /** @description `rate_limited`: Too many requests. */
            429: {
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
                /** @description Which were claimed first, or last, come first; `oldest` by default. */
                order?: "oldest" | "newest";
                /**
                 * @description Only hostnames that contain this text, as the DNS has them, or as their owners spell them: `büch` finds `xn--bcher-kva.example`. Among more than 10,000 names in other letters it takes a whole label.
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
            /** @description `rate_limited`: Too many requests. */
            429: {
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
                     * @description The hostname or wildcard to claim. Upper case, a final dot and international characters are normalised.
                     * @example shop.customer.com
                     * @example *.customer.com
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
            /** @description `project_not_found`: There is no such project. */
            404: {
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
            /** @description `rate_limited`: Too many requests. */
            429: {
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
                /** @description The hostname or wildcard, URL-encoded. */
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
            /** @description `rate_limited`: Too many requests. */
            429: {
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
                /** @description The hostname or wildcard, URL-encoded. */
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
            /** @description `rate_limited`: Too many requests. */
            429: {
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
    importCertificate: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The hostname or wildcard, URL-encoded. */
                hostname: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @description Certificates in PEM: the hostname's own first, each signed by the next. */
                    chain: string;
                    /** @description Its private key in PEM, not encrypted: RSA of 2048 to 4096 bits, or ECDSA on P-256 or P-384. */
                    key: string;
                };
            };
        };
        responses: {
            /** @description It is kept. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
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
                            /** @description Ordered from an authority, or brought by you or the operator; null while there is none. */
                            origin: ("ordered" | "imported") | null;
                            /** @description Why and when the certificate in hand is renewed; null while there is none. */
                            renewal: {
                                /** @description When the authority last said when it wishes the renewal. */
                                ariCheckedAt: string | null;
                                /** @description Since when attempts to renew find the DNS leading elsewhere; null when the last one did not. */
                                dnsLeftAt: string | null;
                                /** @description The authority's page on why it wishes an earlier renewal. */
                                explanationUrl: string | null;
                                /**
                                 * @description Why it is renewed at `renewAt`: `ari`, the authority wishes it (RFC 9773); `lifetime`, about two thirds of it have passed; `imported`, it ends then. `stopped`: it is not renewed any more.
                                 * @enum {unknown}
                                 */
                                plan: "ari" | "lifetime" | "imported" | "stopped";
                                /** @description The same for people, with what to do. */
                                sentence: string;
                                /** @description When renewal stopped. */
                                stoppedAt: string | null;
                            } | null;
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
                        warnings: string[];
                    };
                };
            };
            /** @description `certificate_invalid`: The certificate cannot be served. `hostname_invalid`: The hostname is not valid. `wildcards_not_enabled`: Wildcard hostnames are not enabled. `request_malformed`: The request is malformed. `body_invalid`: The body is not what this endpoint takes. */
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
            /** @description `rate_limited`: Too many requests. */
            429: {
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
    orderInsteadOfImported: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The hostname or wildcard, URL-encoded. */
                hostname: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description One is ordered. */
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
            /** @description `rate_limited`: Too many requests. */
            429: {
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
                /** @description The hostname or wildcard, URL-encoded. */
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
            /** @description `rate_limited`: Too many requests. */
            429: {
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
                /** @description The hostname or wildcard, URL-encoded. */
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
            /** @description `rate_limited`: Too many requests. */
            429: {
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
    linkDomain: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The hostname or wildcard, URL-encoded. */
                hostname: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The link. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ConnectLink"];
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
            /** @description `rate_limited`: Too many requests. */
            429: {
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
                 * @description The hostname to look up; no wildcard, but a name under one.
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
            /** @description `query_invalid`: A query parameter is not valid. `hostname_invalid`: The hostname is not valid. */
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
            /** @description `rate_limited`: Too many requests. */
            429: {
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
            /** @description `rate_limited`: Too many requests. */
            429: {
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
        };
    };
    listProjects: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The projects. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Project"][];
                };
            };
            /** @description `session_required`: There is no session. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `cross_site`: The request comes from another site. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `rate_limited`: Too many requests. */
            429: {
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
    createProject: {
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
                     * @description Friendly name, 1 to 80 characters.
                     * @example Shop
                     */
                    name: string;
                    /**
                     * @description The project's name in addresses, fixed once made.
                     * @example shop
                     */
                    slug?: string;
                    /**
                     * @description How it is spoken to. `http1`: HTTP/1.1. `h2`: HTTP/2 over TLS, for an https URL. `h2c`: HTTP/2 in plain text, for an http URL. gRPC needs one of the last two.
                     * @enum {unknown}
                     */
                    upstreamProtocol?: "http1" | "h2" | "h2c";
                    /**
                     * @description Where its application lives: an http(s) origin.
                     * @example https://app.vendor.com
                     */
                    upstreamUrl: string;
                };
            };
        };
        responses: {
            /** @description The project. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ChangedProject"];
                };
            };
            /** @description `body_invalid`: The body is not what this endpoint takes. `name_invalid`: The name is not valid. `upstream_invalid`: The upstream URL is not valid. `upstream_forbidden`: The upstream is not allowed. `slug_invalid`: The slug is not valid. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `session_required`: There is no session. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `role_insufficient`: Your role in the project does not allow this. `cross_site`: The request comes from another site. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `slug_taken`: The slug is taken. */
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
            /** @description `rate_limited`: Too many requests. */
            429: {
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
    showProject: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The slug of the project.
                 * @example shop
                 */
                slug: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The project. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Project"];
                };
            };
            /** @description `request_malformed`: The request is malformed. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `session_required`: There is no session. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `cross_site`: The request comes from another site. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `project_not_found`: There is no such project. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `rate_limited`: Too many requests. */
            429: {
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
    deleteProject: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The slug of the project.
                 * @example shop
                 */
                slug: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It is deleted. */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description `body_invalid`: The body is not what this endpoint takes. `request_malformed`: The request is malformed. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `session_required`: There is no session. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `role_insufficient`: Your role in the project does not allow this. `cross_site`: The request comes from another site. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `project_not_found`: There is no such project. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `project_not_empty`: The project still holds domains. */
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
            /** @description `rate_limited`: Too many requests. */
            429: {
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
    changeProject: {
        parameters: {
            query?: never;
            header?: {
                /** @description The `ETag` that it was read with: 412 when it has been changed since. Without it the change holds in any case. */
                "if-match"?: string;
            };
            path: {
                /**
                 * @description The slug of the project.
                 * @example shop
                 */
                slug: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": {
                    brand?: {
                        /**
                         * @description `#rrggbb`, or null.
                         * @example #1a56c4
                         */
                        color?: string | null;
                        /**
                         * @description An https URL, or null.
                         * @example https://vendor.com/logo.svg
                         */
                        logoUrl?: string | null;
                    };
                    /**
                     * @description A hostname of your own that your customers are told in place of the edge host; it leads there itself, as by a CNAME. null: the edge host.
                     * @example customers.vendor.com
                     */
                    cnameTarget?: string | null;
                    /**
                     * @description HTML of at most 32 KB that visitors see while your application does not answer, with `{{hostname}}` and `{{requestId}}` filled in; null: our own page. Not in lists.
                     * @example <!doctype html><title>Back soon</title><p>{{hostname}} is back soon. ({{requestId}})
                     */
                    errorPage?: string | null;
                    /**
                     * @description Friendly name, 1 to 80 characters.
                     * @example Shop
                     */
                    name?: string;
                    /**
                     * @description How it is spoken to. `http1`: HTTP/1.1. `h2`: HTTP/2 over TLS, for an https URL. `h2c`: HTTP/2 in plain text, for an http URL. gRPC needs one of the last two.
                     * @enum {unknown}
                     */
                    upstreamProtocol?: "http1" | "h2" | "h2c";
                    /**
                     * @description Where its application lives: an http(s) origin.
                     * @example https://app.vendor.com
                     */
                    upstreamUrl?: string;
                };
            };
        };
        responses: {
            /** @description The project. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ChangedProject"];
                };
            };
            /** @description `body_invalid`: The body is not what this endpoint takes. `name_invalid`: The name is not valid. `upstream_invalid`: The upstream URL is not valid. `upstream_forbidden`: The upstream is not allowed. `brand_invalid`: The brand is not valid. `error_page_invalid`: The error page is not valid. `hostname_invalid`: The hostname is not valid. `hostname_reserved`: The hostname is reserved. `cname_target_invalid`: The CNAME target does not lead to the edge host. `request_malformed`: The request is malformed. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `session_required`: There is no session. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `role_insufficient`: Your role in the project does not allow this. `cross_site`: The request comes from another site. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `project_not_found`: There is no such project. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `changed_meanwhile`: It was changed since you read it. */
            412: {
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
            /** @description `rate_limited`: Too many requests. `rate_limited`: Too many requests. */
            429: {
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
    listActivity: {
        parameters: {
            query?: {
                /** @description Where the last page ended: follow the Link header instead of building this. */
                cursor?: string;
                /** @description At most so many entries, 1 to 200; 50 by default. */
                limit?: string;
            };
            header?: never;
            path: {
                /**
                 * @description The slug of the project.
                 * @example shop
                 */
                slug: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The changes. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Activity"][];
                };
            };
            /** @description `query_invalid`: A query parameter is not valid. `request_malformed`: The request is malformed. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `session_required`: There is no session. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `cross_site`: The request comes from another site. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `project_not_found`: There is no such project. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `rate_limited`: Too many requests. */
            429: {
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
    listPortalDomains: {
        parameters: {
            query?: {
                /** @description Where the last page ended: follow the Link header instead of building this. */
                cursor?: string;
                /** @description With `status`, each domain comes with its status. */
                details?: "status";
                /**
                 * @description At most so many domains, 1 to 1000. Everything by default.
                 * @example 100
                 */
                limit?: string;
                /** @description Which were claimed first, or last, come first; `oldest` by default. */
                order?: "oldest" | "newest";
                /**
                 * @description Only hostnames that contain this text, as the DNS has them, or as their owners spell them: `büch` finds `xn--bcher-kva.example`. Among more than 10,000 names in other letters it takes a whole label.
                 * @example customer
                 */
                search?: string;
                /** @description Only verified, or only unverified domains. */
                verified?: "true" | "false";
            };
            header?: never;
            path: {
                /**
                 * @description The slug of the project.
                 * @example shop
                 */
                slug: string;
            };
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
                    "application/json": components["schemas"]["PortalDomain"][];
                };
            };
            /** @description `query_invalid`: A query parameter is not valid. `request_malformed`: The request is malformed. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `session_required`: There is no session. `token_invalid`: The token is not valid. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `cross_site`: The request comes from another site. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `project_not_found`: There is no such project. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `rate_limited`: Too many requests. */
            429: {
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
    registerPortalDomain: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The slug of the project.
                 * @example shop
                 */
                slug: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /**
                     * @description The hostname or wildcard to claim. Upper case, a final dot and international characters are normalised.
                     * @example shop.customer.com
                     * @example *.customer.com
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
            /** @description `body_invalid`: The body is not what this endpoint takes. `hostname_invalid`: The hostname is not valid. `hostname_reserved`: The hostname is reserved. `wildcards_not_enabled`: Wildcard hostnames are not enabled. `metadata_invalid`: The metadata is not valid. `request_malformed`: The request is malformed. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `session_required`: There is no session. `token_invalid`: The token is not valid. */
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
            /** @description `cross_site`: The request comes from another site. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `project_not_found`: There is no such project. */
            404: {
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
            /** @description `rate_limited`: Too many requests. */
            429: {
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
    showPortalDomain: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The hostname or wildcard, URL-encoded. */
                hostname: string;
                /**
                 * @description The slug of the project.
                 * @example shop
                 */
                slug: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The domain, as it stands. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PortalDomainDetails"];
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
            /** @description `session_required`: There is no session. `token_invalid`: The token is not valid. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `cross_site`: The request comes from another site. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `domain_not_found`: The hostname is not a domain of this project. `project_not_found`: There is no such project. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `rate_limited`: Too many requests. */
            429: {
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
    removePortalDomain: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The hostname or wildcard, URL-encoded. */
                hostname: string;
                /**
                 * @description The slug of the project.
                 * @example shop
                 */
                slug: string;
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
            /** @description `session_required`: There is no session. `token_invalid`: The token is not valid. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `cross_site`: The request comes from another site. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `domain_not_found`: The hostname is not a domain of this project. `project_not_found`: There is no such project. */
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
            /** @description `rate_limited`: Too many requests. */
            429: {
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
    changePortalDomain: {
        parameters: {
            query?: never;
            header?: {
                /** @description The `ETag` that it was read with: 412 when it has been changed since. Without it the change holds in any case. */
                "if-match"?: string;
            };
            path: {
                /** @description The hostname or wildcard, URL-encoded. */
                hostname: string;
                /**
                 * @description The slug of the project.
                 * @example shop
                 */
                slug: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
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
                };
            };
        };
        responses: {
            /** @description The domain, as it stands. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PortalDomainDetails"];
                };
            };
            /** @description `hostname_invalid`: The hostname is not valid. `wildcards_not_enabled`: Wildcard hostnames are not enabled. `request_malformed`: The request is malformed. `body_invalid`: The body is not what this endpoint takes. `metadata_invalid`: The metadata is not valid. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `session_required`: There is no session. `token_invalid`: The token is not valid. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `cross_site`: The request comes from another site. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `domain_not_found`: The hostname is not a domain of this project. `project_not_found`: There is no such project. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `changed_meanwhile`: It was changed since you read it. */
            412: {
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
            /** @description `rate_limited`: Too many requests. */
            429: {
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
    checkPortalDomain: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The hostname or wildcard, URL-encoded. */
                hostname: string;
                /**
                 * @description The slug of the project.
                 * @example shop
                 */
                slug: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The domain, as it stands. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PortalDomainDetails"];
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
            /** @description `session_required`: There is no session. `token_invalid`: The token is not valid. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `cross_site`: The request comes from another site. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `domain_not_found`: The hostname is not a domain of this project. `project_not_found`: There is no such project. */
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
            /** @description `rate_limited`: Too many requests. */
            429: {
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
    linkPortalDomain: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The hostname or wildcard, URL-encoded. */
                hostname: string;
                /**
                 * @description The slug of the project.
                 * @example shop
                 */
                slug: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The link. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ConnectLink"];
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
            /** @description `session_required`: There is no session. `token_invalid`: The token is not valid. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `cross_site`: The request comes from another site. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `domain_not_found`: The hostname is not a domain of this project. `project_not_found`: There is no such project. */
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
            /** @description `rate_limited`: Too many requests. */
            429: {
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
    registerPortalDomains: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The slug of the project.
                 * @example shop
                 */
                slug: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @description Up to 1,000 hostnames. */
                    hostnames: string[];
                };
            };
        };
        responses: {
            /** @description What became of each. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["BulkResult"];
                };
            };
            /** @description `body_invalid`: The body is not what this endpoint takes. `request_malformed`: The request is malformed. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `session_required`: There is no session. `token_invalid`: The token is not valid. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `cross_site`: The request comes from another site. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `project_not_found`: There is no such project. */
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
            /** @description `rate_limited`: Too many requests. `rate_limited`: Too many requests. */
            429: {
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
    previewErrorPage: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The slug of the project.
                 * @example shop
                 */
                slug: string;
            };
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
            /** @description `request_malformed`: The request is malformed. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `session_required`: There is no session. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `cross_site`: The request comes from another site. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `project_not_found`: There is no such project. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `rate_limited`: Too many requests. */
            429: {
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
    watchProject: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The slug of the project.
                 * @example shop
                 */
                slug: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The events, until either side ends them. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/event-stream": string;
                };
            };
            /** @description `request_malformed`: The request is malformed. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `session_required`: There is no session. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `cross_site`: The request comes from another site. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `project_not_found`: There is no such project. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `rate_limited`: Too many requests. */
            429: {
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
    listMembers: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The slug of the project.
                 * @example shop
                 */
                slug: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The members. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Member"][];
                };
            };
            /** @description `request_malformed`: The request is malformed. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `session_required`: There is no session. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `cross_site`: The request comes from another site. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `project_not_found`: There is no such project. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `rate_limited`: Too many requests. */
            429: {
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
    inviteMember: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The slug of the project.
                 * @example shop
                 */
                slug: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /**
                     * @description An e-mail address; upper and lower case are the same, and so are both forms of an international domain, which is answered as the DNS has it.
                     * @example ada@vendor.com
                     */
                    email: string;
                    /**
                     * @description `member`: sees everything, manages domains. `admin`: also tokens, members and settings. `owner`: everything.
                     * @enum {unknown}
                     */
                    role: "owner" | "admin" | "member";
                };
            };
        };
        responses: {
            /** @description The member. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Member"];
                };
            };
            /** @description `body_invalid`: The body is not what this endpoint takes. `email_invalid`: The e-mail address is not valid. `request_malformed`: The request is malformed. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `session_required`: There is no session. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `role_insufficient`: Your role in the project does not allow this. `cross_site`: The request comes from another site. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `project_not_found`: There is no such project. */
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
            /** @description `rate_limited`: Too many requests. */
            429: {
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
    removeMember: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The address of the member, URL-encoded.
                 * @example ada@vendor.com
                 */
                email: string;
                /**
                 * @description The slug of the project.
                 * @example shop
                 */
                slug: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description No member any more. */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description `body_invalid`: The body is not what this endpoint takes. `email_invalid`: The e-mail address is not valid. `request_malformed`: The request is malformed. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `session_required`: There is no session. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `role_insufficient`: Your role in the project does not allow this. `cross_site`: The request comes from another site. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `member_not_found`: There is no such member. `project_not_found`: There is no such project. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `last_owner`: A project needs an owner. */
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
            /** @description `rate_limited`: Too many requests. */
            429: {
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
    changeMember: {
        parameters: {
            query?: never;
            header?: {
                /** @description The `ETag` that it was read with: 412 when it has been changed since. Without it the change holds in any case. */
                "if-match"?: string;
            };
            path: {
                /**
                 * @description The address of the member, URL-encoded.
                 * @example ada@vendor.com
                 */
                email: string;
                /**
                 * @description The slug of the project.
                 * @example shop
                 */
                slug: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /**
                     * @description `member`: sees everything, manages domains. `admin`: also tokens, members and settings. `owner`: everything.
                     * @enum {unknown}
                     */
                    role: "owner" | "admin" | "member";
                };
            };
        };
        responses: {
            /** @description The member. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Member"];
                };
            };
            /** @description `body_invalid`: The body is not what this endpoint takes. `email_invalid`: The e-mail address is not valid. `request_malformed`: The request is malformed. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `session_required`: There is no session. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `role_insufficient`: Your role in the project does not allow this. `cross_site`: The request comes from another site. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `member_not_found`: There is no such member. `project_not_found`: There is no such project. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `last_owner`: A project needs an owner. */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `changed_meanwhile`: It was changed since you read it. */
            412: {
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
            /** @description `rate_limited`: Too many requests. */
            429: {
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
    listTokens: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The slug of the project.
                 * @example shop
                 */
                slug: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The tokens. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Token"][];
                };
            };
            /** @description `request_malformed`: The request is malformed. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `session_required`: There is no session. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `cross_site`: The request comes from another site. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `project_not_found`: There is no such project. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `rate_limited`: Too many requests. */
            429: {
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
    issueToken: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The slug of the project.
                 * @example shop
                 */
                slug: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": {
                    /** @description What it is for, up to 80 characters. */
                    name?: string;
                };
            };
        };
        responses: {
            /** @description The token. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["IssuedToken"];
                };
            };
            /** @description `body_invalid`: The body is not what this endpoint takes. `name_invalid`: The name is not valid. `request_malformed`: The request is malformed. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `session_required`: There is no session. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `role_insufficient`: Your role in the project does not allow this. `cross_site`: The request comes from another site. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `project_not_found`: There is no such project. */
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
            /** @description `rate_limited`: Too many requests. */
            429: {
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
    revokeToken: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The slug of the project.
                 * @example shop
                 */
                slug: string;
                /**
                 * @description The id of the token.
                 * @example 12
                 */
                tokenId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It is revoked. */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description `body_invalid`: The body is not what this endpoint takes. `request_malformed`: The request is malformed. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `session_required`: There is no session. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `role_insufficient`: Your role in the project does not allow this. `cross_site`: The request comes from another site. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `token_not_found`: There is no such token. `project_not_found`: There is no such project. */
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
            /** @description `rate_limited`: Too many requests. */
            429: {
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
}
