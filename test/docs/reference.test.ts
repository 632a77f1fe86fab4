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
import { TLS_OPTIONS } from '../../src/control-plane/caddyfile/directives/reverse-proxy/transport-tls.ts';
import { DEFAULT_HEAD_LIMITS } from '../../src/data-plane/http1/limits.ts';
import { runInProcess } from '../cli/in-process.ts';
import { codeSpans, proseOf, readDoc, sectionOf } from './markdown.ts';

const CADDYFILE = readDoc('docs/reference/caddyfile.md');
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

/** Where the fragments of a section's "Not yet" belong. `%` is the fragment. */
const PLACES: Readonly<Record<string, string>> = {
  'Global options': '{\n%\n}\nhttp://:80 {\nrespond "x"\n}\n',
  servers: '{\nservers {\n%\n}\n}\nhttp://:80 {\nrespond "x"\n}\n',
  Directives: 'http://:80 {\n%\nrespond "x"\n}\n',
  Matchers: 'http://:80 {\n@m {\n%\n}\nrespond @m "x"\n}\n',
  log: 'http://:80 {\nlog {\n%\n}\nrespond "x"\n}\n',
  'transport http': 'http://:80 {\nreverse_proxy 10.0.0.1 {\ntransport http {\n%\n}\n}\n}\n',
  'Rest of reverse_proxy': 'http://:80 {\nreverse_proxy {\n%\n}\n}\n',
  Policies: 'http://:80 {\nreverse_proxy 10.0.0.1 {\nlb_policy %\n}\n}\n',
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

test('the command reference names every command and every option of it', async () => {
  const text = readDoc('docs/reference/cli.md');
  const { stdout } = await runInProcess(['--help']);
  const commands = [...stdout.matchAll(/^ {2}([a-z]+) /gm)].map(([, name = '']) => name);
  assert.ok(commands.length > 5);
  for (const command of commands) {
    const { stdout: help } = await runInProcess(['help', command]);
    const section = command === 'help' ? text : sectionOf(text, command);
    for (const [option] of help.matchAll(/--(?!help)[a-z-]+/g)) assert.ok(section.includes(option), `${command} ${option}`);
  }
});

test('the limits page names the limits of the codec', () => {
  const text = readDoc('docs/reference/limits.md');
  assert.ok(text.includes(`| Header lines of a message | ${DEFAULT_HEAD_LIMITS.maxFields} |`));
  assert.ok(text.includes(`| Request line | ${DEFAULT_HEAD_LIMITS.maxRequestLine} bytes |`));
});
