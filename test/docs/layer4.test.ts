/** docs/reference/layer4.md and the tables of the code name the same things. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { checkConfig } from '../../src/cli/check-config.ts';
import { HANDLERS } from '../../src/control-plane/caddyfile/layer4/handlers.ts';
import { MATCHERS } from '../../src/control-plane/caddyfile/layer4/matchers.ts';
import { PROXY_OPTIONS } from '../../src/control-plane/caddyfile/layer4/proxy.ts';
import { SERVER_OPTIONS } from '../../src/control-plane/caddyfile/layer4/server-options.ts';
import { UPSTREAM_OPTIONS } from '../../src/control-plane/caddyfile/layer4/upstream.ts';
import { codeSpans, proseOf, readDoc, sectionOf } from './markdown.ts';

const PAGE = readDoc('docs/reference/layer4.md');

const KNOWN: Readonly<Record<string, readonly [section: string, names: Iterable<string>]>> = {
  'server option': ['Servers', Object.keys(SERVER_OPTIONS)],
  matcher: ['Matchers', Object.keys(MATCHERS)],
  handler: ['Handlers', Object.keys(HANDLERS).filter((name) => name !== 'tls')],
  'option of proxy': ['proxy', Object.keys(PROXY_OPTIONS)],
  'option of an upstream': ['proxy', Object.keys(UPSTREAM_OPTIONS)],
};

for (const [kind, [section, names]] of Object.entries(KNOWN)) {
  test(`the layer 4 reference names every ${kind}`, () => {
    const words = new Set(
      codeSpans(proseOf(sectionOf(PAGE, section))).flatMap((code) => code.split(/[\s[\]{}|;<>…]+/)),
    );
    for (const name of names) assert.ok(words.has(name), `${name} is missing`);
  });
}

function check(lines: string): void {
  const text = `{\nlayer4 {\n:1 {\n${lines}\n}\n}\n}\n`;
  checkConfig({ text, adapter: 'caddyfile', filename: 'Caddyfile' }, {});
}

const NOT_THERE: Readonly<Record<string, (word: string) => string>> = {
  'Matchers of caddy-l4': (word) => `@m ${word}\nroute @m {\necho\n}`,
  'Handlers of caddy-l4': (word) => `route {\n${word}\n}`,
};

for (const [kind, place] of Object.entries(NOT_THERE)) {
  test(`what the layer 4 reference calls not there is refused with its word: ${kind}`, () => {
    const paragraphs = sectionOf(PAGE, 'Not there').split('\n\n');
    const words = codeSpans(paragraphs.find((paragraph) => paragraph.includes(`${kind}:`)) ?? '');
    assert.ok(words.length > 4);
    for (const word of words) {
      assert.throws(
        () => check(place(word)),
        new RegExp(`'${word}\\b.*is not supported yet, at Caddyfile:[45]$`),
        word,
      );
    }
  });
}
