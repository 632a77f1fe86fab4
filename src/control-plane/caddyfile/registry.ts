import type { Directive } from './context.ts';
import { basicAuth, basicAuthOld } from './directives/basic-auth.ts';
import { bind } from './directives/bind.ts';
import { handle, handlePath, route } from './directives/blocks.ts';
import { copyResponse, copyResponseHeaders } from './directives/copy-response.ts';
import { encode } from './directives/encode.ts';
import { error } from './directives/error.ts';
import { handleErrors } from './directives/handle-errors.ts';
import { header, requestHeader } from './directives/header.ts';
import { invoke } from './directives/invoke.ts';
import { log } from './directives/log.ts';
import { map } from './directives/map.ts';
import { metrics } from './directives/metrics.ts';
import { redir } from './directives/redir.ts';
import { requestBody } from './directives/request-body.ts';
import { abort, respond } from './directives/respond.ts';
import { forwardAuth } from './directives/reverse-proxy/forward-auth.ts';
import { reverseProxy } from './directives/reverse-proxy/reverse-proxy.ts';
import { method, rewrite, uri } from './directives/rewrite.ts';
import { tls } from './directives/tls/tls.ts';
import { logSkip, root, skipLogOld, vars } from './directives/vars.ts';

/** Every directive of a site, by name. */
export const DIRECTIVES: ReadonlyMap<string, Directive> = new Map(
  [
    abort,
    basicAuth,
    basicAuthOld,
    bind,
    copyResponse,
    copyResponseHeaders,
    encode,
    error,
    forwardAuth,
    handle,
    handleErrors,
    handlePath,
    header,
    invoke,
    log,
    logSkip,
    map,
    method,
    metrics,
    redir,
    requestBody,
    requestHeader,
    respond,
    reverseProxy,
    rewrite,
    root,
    route,
    skipLogOld,
    tls,
    uri,
    vars,
  ].map((directive) => [directive.name, directive]),
);
