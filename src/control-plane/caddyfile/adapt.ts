/** Caddyfile text → Caddy's JSON config. */
import type { ConfigPosition } from '../../shared/config-error.ts';
import type { ConfigWarning } from '../compile/compiled.ts';
import { type Adaptation, Origins, type SiteContext, warn } from './context.ts';
import { type FileReader, localFiles } from './files.ts';
import { parseGlobalOptions } from './global/global-options.ts';
import type { GlobalOptions } from './global/option.ts';
import type { JsonObject } from './json.ts';
import { collectPositions } from './positions.ts';
import { DIRECTIVES } from './registry.ts';
import { parseAddress } from './routing/address.ts';
import { DEFAULT_ORDER } from './routing/order.ts';
import { expandInStatements } from './routing/placeholders.ts';
import { parseBlock, parseSite } from './routing/segment.ts';
import { groupByListener, type Ports } from './servers/listeners.ts';
import { loggingOf } from './servers/logging.ts';
import { layer4App } from './layer4/layer4.ts';
import { NamedRoutes } from './servers/named-routes.ts';
import { buildServers } from './servers/servers.ts';
import type { Site } from './servers/site.ts';
import { pkiApp, tlsApp } from './servers/tls-app.ts';
import { failure, lineFailure } from './syntax/failure.ts';
import { parseDocument, type SiteBlock } from './syntax/parser.ts';
import type { Place, Token } from './syntax/token.ts';

export interface AdaptOptions {
  /** Name shown in errors; imports are relative to its folder. */
  readonly filename: string;
  /** Values for `{$NAME}`. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** How imports reach files; default: the file system. */
  readonly readFile?: FileReader['readFile'];
  readonly glob?: FileReader['glob'];
}

export interface AdaptResult {
  readonly config: JsonObject;
  readonly warnings: ConfigWarning[];
  /** Dotted JSON path (`apps.http.servers.srv0.routes.0`) → where it was written. */
  readonly positions: ReadonlyMap<string, ConfigPosition>;
}

/** Throws a `ConfigError` that names file, line and word for whatever is wrong; warnings are for what is odd. */
export function adaptCaddyfile(text: string, options: AdaptOptions): AdaptResult {
  const adaptation: Adaptation = {
    origins: new Origins(),
    warnings: [],
    order: DEFAULT_ORDER,
    nextGroup: 0,
    nextLog: 0,
    nextCertificate: 0,
  };
  const config = adapt(text, options, adaptation);
  return { config, warnings: adaptation.warnings, positions: collectPositions(config, adaptation.origins) };
}

function adapt(text: string, options: AdaptOptions, adaptation: Adaptation): JsonObject {
  const local = localFiles();
  const files = { readFile: options.readFile ?? local.readFile, glob: options.glob ?? local.glob };
  const report = (place: Place, directive: string, message: string): void =>
    warn(adaptation, place, directive, message);
  const document = parseDocument(text, { filename: options.filename, env: options.env, files, warn: report });
  const globals = parseGlobalOptions(document.globals, adaptation);
  const base = { adaptation, matchers: new Map<string, JsonObject>(), parseBlock };
  const namedRoutes = new NamedRoutes(document, base);
  for (const site of document.sites) checkKeys(site, document.sites.length === 1);
  const sites = document.sites.map((site) => readSite(site, base, namedRoutes));
  return assemble(sites, globals, namedRoutes, adaptation);
}

function checkKeys({ keys, braced }: SiteBlock, alone: boolean): void {
  for (const key of keys) {
    if (!DIRECTIVES.has(key.text)) continue;
    const what = `parsed '${key.text}' as a site address, but it is a known directive`;
    throw lineFailure(key, `${what}; directives must appear in a site block`);
  }
  const [first] = keys;
  if (first === undefined || braced || alone) return;
  throw failure(first, `site '${first.text}' has no block: beside other sites each needs curly braces of its own`);
}

function readSite(block: SiteBlock, base: Omit<SiteContext, 'invoked'>, namedRoutes: NamedRoutes): Site {
  const addresses = block.keys.map(parseAddress);
  const [token] = block.keys;
  if (token === undefined) throw new RangeError('the parser gives every site an address');
  const invoked = new Map<string, Token>();
  const values = parseSite(expandInStatements(block.body), { ...base, invoked }, block.braced);
  namedRoutes.noteSite(token, invoked);
  return { addresses, values, token };
}

function assemble(
  sites: readonly Site[],
  globals: GlobalOptions,
  namedRoutes: NamedRoutes,
  adaptation: Adaptation,
): JsonObject {
  const ports: Ports = { http: globals.httpPort ?? 80, https: globals.httpsPort ?? 443 };
  const groups = groupByListener(sites, globals.defaultBind, ports);
  const http = globals.http;
  const metrics = mergedMetrics(globals);
  const servers = buildServers(groups, globals, ports, namedRoutes, adaptation);
  if (Object.keys(servers).length > 0) http['servers'] = servers;
  if (metrics !== null) http['metrics'] = metrics;
  const apps: JsonObject = {};
  if (Object.keys(http).length > 0) apps['http'] = http;
  const layer4 = layer4App(globals);
  if (layer4 !== null) apps['layer4'] = layer4;
  const tls = tlsApp(groups, globals, ports, adaptation.origins);
  if (tls !== null) apps['tls'] = tls;
  const pki = pkiApp(globals);
  if (pki !== null) apps['pki'] = pki;
  const config: JsonObject = {};
  const admin = adminOf(globals);
  if (admin !== null) config['admin'] = admin;
  const logging = loggingOf(globals, sites);
  if (logging !== null) config['logging'] = logging;
  if (globals.storage !== null) config['storage'] = globals.storage;
  if (Object.keys(apps).length > 0) config['apps'] = apps;
  return config;
}

function adminOf({ admin, persistConfig }: GlobalOptions): JsonObject | null {
  if (persistConfig) return admin;
  const json = admin ?? {};
  json['config'] = { persist: false };
  return json;
}

/** The global option and the older one in `servers` say the same thing. */
function mergedMetrics({ metrics, servers }: GlobalOptions): JsonObject | null {
  const all = [metrics, ...servers.map((block) => block.metrics)].filter((found) => found !== null);
  return all.length > 0 ? Object.assign({}, ...all) : null;
}
