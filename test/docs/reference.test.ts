/** docs/reference and the tables of the code name the same things. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { checkConfig } from '../../src/cli/check-config.ts';
import { DIRECTIVES } from '../../src/control-plane/caddyfile/registry.ts';
import { SERVER_OPTIONS } from '../../src/control-plane/caddyfile/global/server-options.ts';
import { HEALTH_SUBDIRECTIVES } from '../../src/control-plane/caddyfile/directives/reverse-proxy/health.ts';
import { LOAD_BALANCING_SUBDIRECTIVES } from '../../src/control-plane/caddyfile/directives/reverse-proxy/load-balancing.ts';
import { PASSIVE_SUBDIRECTIVES } from '../../src/control-plane/caddyfile/directives/reverse-proxy/passive.ts';
import { REQUEST_SUBDIRECTIVES } from '../../src/control-plane/caddyfile/directives/reverse-proxy/request.ts';
import { STREAMING_SUBDIRECTIVES } from '../../src/control-plane/caddyfile/directives/reverse-proxy/streaming.ts';
import { COMMON_OPTIONS, PROBE_OPTIONS } from '../../src/control-plane/caddyfile/health/options.ts';
import { TLS_OPTIONS } from '../../src/control-plane/caddyfile/directives/reverse-proxy/transport-tls.ts';
import { DEFAULT_HEAD_LIMITS } from '../../src/data-plane/http1/limits.ts';
import { runInProcess } from '../cli/in-process.ts';
import { blocksOf, codeSpans, proseOf, readDoc, sectionOf } from './markdown.ts';

const CADDYFILE = readDoc('docs/reference/caddyfile.md');
const HEALTH = new Set(
  codeSpans(proseOf(readDoc('docs/reference/health.md'))).flatMap((code) => code.split(/[\s[\]{}|;<>…]+/)),
);
const WORDS = new Set(codeSpans(proseOf(CADDYFILE)).flatMap((code) => code.split(/[\s[\]{}|;<>…]+/)));

const KNOWN: Readonly<Record<string, Iterable<string>>> = {
  directive: DIRECTIVES.keys(),
  'servers option': Object.keys(SERVER_OPTIONS),
  'health option': Object.keys(HEALTH_SUBDIRECTIVES),
  'load balancing option': Object.keys(LOAD_BALANCING_SUBDIRECTIVES),
  'passive health option': Object.keys(PASSIVE_SUBDIRECTIVES),
  'request option': Object.keys(REQUEST_SUBDIRECTIVES),
  'streaming option': Object.keys(STREAMING_SUBDIRECTIVES),
  'TLS option': Object.keys(TLS_OPTIONS),
};

for (const [kind, names] of Object.entries(KNOWN)) {
  test(`the Caddyfile reference names every ${kind}`, () => {
    for (const name of names) assert.ok(WORDS.has(name), `${name} is missing`);
  });
}

test('the reference of probes names every probe and every option of it', () => {
  for (const name of Object.keys(COMMON_OPTIONS)) assert.ok(HEALTH.has(name), `${name} is missing`);
  for (const [probe, options] of Object.entries(PROBE_OPTIONS)) {
    for (const name of [probe, ...Object.keys(options)]) assert.ok(HEALTH.has(name), `${name} of ${probe} is missing`);
  }
});

/** Where the fragments of a section's "Not yet" belong. `%` is the fragment. */
const PLACES: Readonly<Record<string, string>> = {
  'Global options': '{\n%\n}\nhttp://:80 {\nrespond "x"\n}\n',
  servers: '{\nservers {\n%\n}\n}\nhttp://:80 {\nrespond "x"\n}\n',
  Directives: 'http://:80 {\n%\nrespond "x"\n}\n',
  Matchers: 'http://:80 {\n@m {\n%\n}\nrespond @m "x"\n}\n',
  log: 'http://:80 {\nlog {\n%\n}\nrespond "x"\n}\n',
  'transport http': 'http://:80 {\nreverse_proxy 10.0.0.1 {\ntransport http {\n%\n}\n}\n}\n',
  'Rest of reverse_proxy': 'http://:80 {\nreverse_proxy {\n%\n}\n}\n',
};

for (const [section, place] of Object.entries(PLACES)) {
  test(`what the reference calls not yet under ${section} is refused with its word`, () => {
    const [, list = ''] = /^Not yet: ([\s\S]*?\.)(?:\n\n|\s[A-Z`]|$)/m.exec(sectionOf(CADDYFILE, section)) ?? [];
    const fragments = codeSpans(list);
    assert.notEqual(fragments.length, 0);
    for (const fragment of fragments) {
      const lines = fragment.replaceAll(' { ', ' {\n').replaceAll(' }', '\n}');
      const text = place.replace('%', () => lines);
      const check = (): unknown => checkConfig({ text, adapter: 'caddyfile', filename: 'Caddyfile' }, {});
      assert.throws(check, /is not supported yet/, fragment);
    }
  });
}

/** Where the words of a paragraph of "Not there" belong. */
const ABSENT: Readonly<Record<string, string>> = {
  Directives: 'http://:80 {\n% x\n}\n',
  'Global options': '{\n% x\n}\nhttp://:80 {\nrespond "x"\n}\n',
  'Options of reverse_proxy': 'http://:80 {\nreverse_proxy 10.0.0.1 {\n% x\n}\n}\n',
};

for (const [kind, place] of Object.entries(ABSENT)) {
  test(`what the differences call not there is refused with its word: ${kind}`, () => {
    const section = sectionOf(readDoc('docs/caddy-differences.md'), 'Not there');
    const words = codeSpans(section.split('\n\n').find((paragraph) => paragraph.includes(`${kind}:`)) ?? '');
    assert.notEqual(words.length, 0);
    for (const word of words) {
      const request = { text: place.replace('%', () => word), adapter: 'caddyfile', filename: 'Caddyfile' } as const;
      assert.throws(() => checkConfig(request, {}), new RegExp(`\\b${word}\\b`), word);
    }
  });
}

test('the command reference names every command and every option of it', async () => {
  const text = readDoc('docs/reference/cli.md');
  const { stdout } = await runInProcess(['--help']);
  const commands = [...stdout.matchAll(/^ {2}([a-z]+) /gm)].map(([, name = '']) => name);
  assert.ok(commands.length > 5);
  for (const command of commands) {
    const { stdout: help } = await runInProcess(['help', command]);
    const section = command === 'help' ? text : sectionOf(text, command);
    for (const [option] of help.matchAll(/--(?!help)[a-z-]+/g))
      assert.ok(section.includes(option), `${command} ${option}`);
  }
});

test('the command reference shows what hash prints', async () => {
  const console = blocksOf({ path: 'docs/reference/cli.md', text: readDoc('docs/reference/cli.md') });
  const shown = console.find(({ text }) => text.startsWith('$ npx holdfast hash 203.0.113.5\n'));
  const { stdout } = await runInProcess(['hash', '203.0.113.5']);
  assert.equal(shown?.text, `$ npx holdfast hash 203.0.113.5\n${stdout}`);
});

test('the library page names every option, method and type of event', () => {
  const words = new Set(codeSpans(readDoc('docs/reference/library.md')).flatMap((code) => code.split(/[^\w-]+/)));
  const face = readDoc('src/balancer.ts');
  const names = [...face.matchAll(/^  (?:readonly )?(\w+)\??[:(]/gm)].map(([, name = '']) => name);
  const events = [...readDoc('src/control-plane/types.ts').matchAll(/^    \| '([a-z-]+)'/gm)].map(
    ([, type = '']) => type,
  );
  assert.ok(names.length > 20 && events.length > 10);
  for (const name of [...names, ...events]) assert.ok(words.has(name), `${name} is missing`);
});

test('the limits page names the limits of the codec', () => {
  const text = readDoc('docs/reference/limits.md');
  assert.ok(text.includes(`| Header lines of a response | ${DEFAULT_HEAD_LIMITS.maxFields} |`));
});
