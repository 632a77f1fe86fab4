import type { Adaptation } from '../context.ts';
import type { GlobalOptions, ServerOptions } from '../global/option.ts';
import { type JsonObject, setOwn } from '../json.ts';
import { failure } from '../syntax/failure.ts';
import { serverLogs } from './access-logs.ts';
import { automaticHttps, checkOneProtocol, tlsPolicies } from './automatic-https.ts';
import type { Ports, ServerGroup } from './listeners.ts';
import type { NamedRoutes } from './named-routes.ts';
import { errorRoutes, serverRoutes } from './routes.ts';
import { sortBySpecificity } from './specificity.ts';

/** `apps.http.servers`, named `srvN` by the order of their listen addresses unless `servers` names them. */
export function buildServers(
  groups: readonly ServerGroup[],
  options: GlobalOptions,
  ports: Ports,
  namedRoutes: NamedRoutes,
  adaptation: Adaptation,
): JsonObject {
  const servers: JsonObject = {};
  for (const [index, group] of groups.entries()) {
    const sorted: ServerGroup = { listen: group.listen, sites: sortBySpecificity(group.sites) };
    const block = serverOptions(sorted, options.servers);
    const name = block?.name ? block.name : `srv${index}`;
    if (Object.hasOwn(servers, name) && block?.address) {
      throw failure(block.address, `the server name '${name}' is used twice`);
    }
    checkOneProtocol(sorted, ports);
    setOwn(servers, name, buildServer(sorted, block, options, ports, namedRoutes, adaptation));
  }
  return servers;
}

/** The block for one of the listen addresses, else the one for all. */
function serverOptions(group: ServerGroup, blocks: readonly ServerOptions[]): ServerOptions | null {
  const own = blocks.find(({ address }) => address !== null && group.listen.includes(address.text));
  return own ?? blocks.find(({ address }) => address === null) ?? null;
}

function buildServer(
  group: ServerGroup,
  block: ServerOptions | null,
  options: GlobalOptions,
  ports: Ports,
  namedRoutes: NamedRoutes,
  adaptation: Adaptation,
): JsonObject {
  const server: JsonObject = { listen: [...group.listen], ...block?.fields };
  if (block !== null) adaptation.origins.adoptFields(block.fields, server);
  const [first] = group.sites;
  if (first !== undefined) adaptation.origins.mark(server, first.site.token);
  const routes = serverRoutes(group, adaptation);
  const errors = errorRoutes(group, adaptation);
  const policies = tlsPolicies(group, options, ports, adaptation.origins);
  const invoked = namedRoutes.usedBy(group.sites.map(({ site }) => site.token));
  const parts: Record<string, JsonObject | JsonObject[] | null> = {
    automatic_https: automaticHttps(group, options, ports),
    logs: serverLogs(group, block?.logCredentials ?? false),
    errors: errors.length > 0 ? { routes: errors } : null,
    routes: routes.length > 0 ? routes : null,
    tls_connection_policies: policies.length > 0 ? policies : null,
    named_routes: invoked,
  };
  for (const [key, part] of Object.entries(parts)) {
    if (part !== null) server[key] = part;
  }
  return server;
}
