/** The options of `health <probe> { … }`: one reader each. Ranges are the schema's matter. */
import { setField, type Origins } from '../context.ts';
import { type JsonObject, type JsonValue, ownList } from '../json.ts';
import { failure } from '../syntax/failure.ts';
import { duration, flag, integer, one, some, statusOrClass } from '../syntax/read.ts';
import type { Statement } from '../syntax/statement.ts';
import type { Token } from '../syntax/token.ts';

type HealthOption = (line: Statement, target: JsonObject, origins: Origins) => void;
export type HealthOptions = Readonly<Record<string, HealthOption>>;

/** An option that may be written once. */
function once(name: string, read: (line: Statement) => JsonValue): HealthOption {
  return (line, target, origins) => {
    if (target[name] !== undefined) throw failure(line.name, `${line.name.text} is written twice`);
    setField(target, name, read(line), line.name, origins);
  };
}

const text = (name: string): HealthOption => once(name, (line) => one(line).text);
const time = (name: string): HealthOption => once(name, (line) => duration(one(line), `bad ${name}`));
const count = (name: string): HealthOption => once(name, (line) => integer(one(line), `bad ${name}`));
const share = (name: string): HealthOption => once(name, (line) => percent(one(line), name));

/** `5%` or `5`. */
function percent(token: Token, name: string): number {
  const [, amount] = /^(\d{1,3}(?:\.\d+)?)%?$/.exec(token.text) ?? [];
  if (amount === undefined || Number(amount) > 100) {
    throw failure(token, `bad ${name} '${token.text}': write a percentage such as 5%`);
  }
  return Number(amount) / 100;
}

function present(name: string): HealthOption {
  return once(name, (line) => {
    flag(line);
    return true;
  });
}

function onOff(name: string): HealthOption {
  return once(name, (line) => {
    const token = one(line);
    if (token.text === 'on' || token.text === 'off') return token.text === 'on';
    throw failure(token, `bad ${name} '${token.text}': write on or off`);
  });
}

/** A step of a conversation: steps run in the order they are written. */
function step(name: string): HealthOption {
  return (line, target, origins) => {
    const entry = origins.mark({ [name]: one(line).text }, line.name);
    setField(target, 'script', [...ownList(target, 'script'), entry], line.name, origins);
  };
}

function tlsOf(target: JsonObject, line: Statement, origins: Origins): JsonObject {
  const known = target['tls'];
  if (known !== null && typeof known === 'object' && !Array.isArray(known)) return known;
  const tls = origins.mark({}, line.name);
  setField(target, 'tls', tls, line.name, origins);
  return tls;
}

const TLS: HealthOptions = {
  tls: (line, target, origins) => {
    const [name] = some(line, 0, 1);
    const tls = tlsOf(target, line, origins);
    if (name !== undefined) setField(tls, 'name', name.text, line.name, origins);
  },
  insecure: (line, target, origins) => {
    flag(line);
    setField(tlsOf(target, line, origins), 'insecure', true, line.name, origins);
  },
};

/** Of every probe. */
export const COMMON_OPTIONS: HealthOptions = {
  interval: time('interval'),
  timeout: time('timeout'),
  rise: count('rise'),
  fall: count('fall'),
  port: count('port'),
  address: text('address'),
  source: text('source'),
  jitter: share('jitter'),
  max_rtt: time('max_rtt'),
  initial: text('initial'),
  proxy_protocol: text('proxy_protocol'),
  burst: count('burst'),
  max_loss: share('max_loss'),
  max_jitter: time('max_jitter'),
};

/** Of one probe each. */
export const PROBE_OPTIONS: Readonly<Record<string, HealthOptions>> = {
  tcp: { close: text('close'), send: step('send'), expect: step('expect'), expect_regex: step('expect_regex'), ...TLS },
  udp: {
    echo: onOff('echo'),
    send: text('send'),
    expect: text('expect'),
    expect_regex: text('expect_regex'),
  },
  http: {
    method: text('method'),
    version: text('version'),
    domain: text('domain'),
    path: text('path'),
    status: once('status', (line) => some(line, 1).map(statusOrClass)),
    expect_body: text('expect_body'),
    ...TLS,
  },
  grpc: { service: text('service'), ...TLS },
  dns: { name: text('name'), type: text('type'), alive: present('alive') },
  smtp: { ehlo: text('ehlo') },
  ssh: {},
  redis: { strict: present('strict') },
  mqtt: { version: count('version') },
  quic: {},
};
