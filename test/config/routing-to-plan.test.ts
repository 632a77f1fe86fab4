/** Directives and matchers without an upstream, from Caddyfile text to the plan, and what is refused on the way. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { adaptCaddyfile } from '../../src/control-plane/caddyfile/adapt.ts';
import { compileConfig } from '../../src/control-plane/compile/compile.ts';
import type { CompiledConfig } from '../../src/control-plane/compile/compiled.ts';
import { readConfig } from '../../src/control-plane/config/from-json.ts';
import type { HandlerPlan, RoutePlan } from '../../src/shared/plan/types.ts';

function compile(text: string): CompiledConfig {
  const { config, positions } = adaptCaddyfile(text, { filename: 'Caddyfile', env: {} });
  const context = { positions, generatedSecret: () => 'k'.repeat(64), platform: 'linux' } as const;
  return compileConfig(readConfig(config, positions), context).compiled;
}

function routesOf(compiled: CompiledConfig, kind: 'sites' | 'errorSites' = 'sites'): RoutePlan[] {
  const hashes = compiled.servers.flatMap((server) => server[kind]);
  return hashes.map((hash) => {
    const section = compiled.sections.get(hash);
    assert.ok(section?.kind === 'site');
    return section.route;
  });
}

function handlersOf(body: string): HandlerPlan[] {
  return routesOf(compile(`:8080 {\n${body}\n}\n`)).flatMap(({ handle }) => handle);
}

function refusal(text: string): string {
  try {
    compile(text);
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
  return 'not refused';
}

test('matchers with regular expressions take the name of their definition, or one of their own', () => {
  const text =
    ':8080 {\n@m {\npath_regexp ^/a\nheader_regexp own X-A ^b\nvars_regexp v ^c\nvars w x y\n}\nrespond @m ok\n}\n';
  assert.deepEqual(routesOf(compile(text))[0]?.match, [
    [
      { kind: 'path_regexp', regexp: { name: 'm', pattern: '^/a' } },
      { kind: 'header_regexp', fields: { 'X-A': { name: 'own', pattern: '^b' } } },
      { kind: 'vars', vars: { w: ['x', 'y'] } },
      { kind: 'vars_regexp', vars: { v: { name: 'm', pattern: '^c' } } },
    ],
  ]);
});

test('error, map, request_body, log_skip and uri path_regexp become the plans of their names', () => {
  assert.deepEqual(handlersOf('error "gone" 410'), [{ handler: 'error', message: 'gone', statusCode: '410' }]);
  assert.deepEqual(handlersOf('error message'), [{ handler: 'error', message: 'message', statusCode: '500' }]);
  assert.deepEqual(handlersOf('request_body {\nmax_size 10MB\n}'), [{ handler: 'request_body', maxBytes: 10_000_000 }]);
  assert.deepEqual(handlersOf('log_skip'), [{ handler: 'vars', vars: { log_skip: 'true' } }]);
  const [uri] = handlersOf('uri path_regexp /(a) /$1');
  assert.ok(uri?.handler === 'rewrite');
  assert.deepEqual(uri.pathRegexp, [{ find: '/(a)', replace: '/$1' }]);
  assert.deepEqual(handlersOf('map {host} {x} {y} {\na 1 -\n~^b(.) $1 2\ndefault 3 4\n}'), [
    {
      handler: 'map',
      source: '{http.request.host}',
      destinations: ['x', 'y'],
      mappings: [
        { input: 'a', inputRegexp: '', outputs: ['1', null] },
        { input: '', inputRegexp: '^b(.)', outputs: ['$1', '2'] },
      ],
      defaults: ['3', '4'],
    },
  ]);
});

test('handle_errors becomes error sites; its codes need no expression', () => {
  const compiled = compile(
    ':8080 {\nhandle_errors 404 410 5xx {\nrespond gone\n}\nhandle_errors {\nrespond any\n}\n}\n',
  );
  assert.deepEqual(
    routesOf(compiled, 'errorSites').map(({ match }) => match),
    [[[{ kind: 'error_status', status: [5, 404, 410] }]], []],
  );
});

test('a pool of an error page is known to its site', () => {
  const compiled = compile(':8080 {\nreverse_proxy a:1\nhandle_errors {\nreverse_proxy b:1\n}\n}\n');
  assert.deepEqual(
    compiled.pools.map(({ members }) => members[0]?.upstream),
    ['a:1', 'b:1'],
  );
});

test('an invoked route stands where it is invoked, and those it invokes inside it', () => {
  const text = '&(outer) {\nheader X 1\ninvoke inner\n}\n&(inner) {\nrespond in\n}\n:8080 {\ninvoke outer\n}\n';
  const plans = JSON.stringify(routesOf(compile(text)));
  assert.match(plans, /"body":"in"/);
  assert.doesNotMatch(plans, /invoke/);
});

test('a named route that leads back to itself is refused with the way it takes', () => {
  const text = '&(a) {\ninvoke b\n}\n&(b) {\ninvoke a\n}\n:8080 {\ninvoke a\n}\n';
  assert.equal(refusal(text), "named route 'a' invokes itself: a → b → a, at Caddyfile:5");
});

test('named routes that multiply without end are refused', () => {
  const doubles = Array.from(
    { length: 20 },
    (_, n) => `&(r${n}) {\nroute {\ninvoke r${n + 1}\ninvoke r${n + 1}\n}\n}\n`,
  );
  const text = `${doubles.join('')}&(r20) {\nrespond x\n}\n:8080 {\ninvoke r0\n}\n`;
  assert.match(refusal(text), /^more than 10000 copies of named routes in one server, at Caddyfile:\d+$/);
});

test('what cannot be is refused at its line', () => {
  const inSite = (lines: string): string => refusal(`:8080 {\n${lines}\nrespond ok\n}\n`);
  for (const [lines, message] of [
    ['@m path_regexp (', /path_regexp\.pattern: expected a regular expression \(RE2 syntax\): .*, at Caddyfile:2$/],
    ['@m header_regexp X-A (?=a)\nrespond @m ok', /pattern: expected a regular expression .*, at Caddyfile:2$/],
    ['uri path_regexp [ x', /find: expected a regular expression .*, at Caddyfile:2$/],
    ['map {host} {x} {\n~( 1\n}', /input_regexp: expected a regular expression .*, at Caddyfile:2$/],
    ['map {host} x {\na 1\n}', /destinations\.0: expected a placeholder such as \{name\}, found "x", at Caddyfile:2$/],
    ['map {host} {x} {\na 1\na 2\n}', /mappings\.1: this input has a mapping already, at Caddyfile:2$/],
    ['map {uri} {host} {\na 1\n}', /\{http\.request\.host\} has a meaning already .*, at Caddyfile:2$/],
    ['error 700', /status_code: expected a status code from 200 to 599, .*, at Caddyfile:2$/],
    ['request_body {\nread_timeout 25h\n}', /read_timeout: expected a duration from 0s to 1d .*, at Caddyfile:2$/],
    ['encode {\ngzip 10\n}', /gzip\.level: expected a whole number from 1 to 9, found 10, at Caddyfile:2$/],
    ['encode {\nminimum_length -1\n}', /minimum_length: expected a whole number .*, at Caddyfile:2$/],
    [
      'encode {\nzstd 3\n}',
      /zstd\.level: expected 'fastest', 'default', 'better' or 'best', found "3", at Caddyfile:2$/,
    ],
    ['basic_auth {\nann x\n}', /^password hash of account 'ann': it is neither .*, at Caddyfile:2$/],
    ['uri query k [ x', /search_regexp: expected a regular expression .*, at Caddyfile:2$/],
  ] as const) {
    assert.match(
      inSite(lines.includes('@m') && !lines.includes('respond') ? `${lines}\nrespond @m ok` : lines),
      message,
    );
  }
});

test('a placeholder that a map fills may stand where a status is wanted', () => {
  assert.equal(refusal(':8080 {\nmap {path} {code} {\n/a 404\ndefault 200\n}\nrespond x {code}\n}\n'), 'not refused');
});
