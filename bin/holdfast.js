#!/usr/bin/env node
// Plain JavaScript that old versions of Node can parse too, so that they say what is wrong.
import { existsSync } from 'node:fs';
import module from 'node:module';
import process from 'node:process';

const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);

if (major < 24 || (major === 24 && minor < 21)) {
  process.stderr.write(
    `holdfast needs Node.js 24.21 or newer, and this is ${process.versions.node}: install it from https://nodejs.org, ` +
      'or, in a checkout, run "npm ci" and then "npx holdfast" or "npm start", which bring their own.\n',
  );
  process.exitCode = 2;
} else {
  // Keeps compiled code between starts, where the system lets it: a quarter of the time to start.
  module.enableCompileCache();
  const source = new URL('../src/cli/main.ts', import.meta.url);
  const entry = existsSync(source) ? source : new URL('../dist/cli/main.js', import.meta.url);
  await import(entry.href);
}
