import { styleText } from 'node:util';
import type { LogTarget } from './root-logger.ts';

const COLOURS = { debug: 'gray', info: 'green', warn: 'yellow', error: 'red' } as const;

const MIN_TOLD_CHARS = 6;

type KnownLevel = keyof typeof COLOURS;

/** Turns JSON log lines into `12:00:01 INFO  message  field=value` for a person at a terminal. */
export function readableStream(target: LogTarget): LogTarget {
  return { write: (line) => target.write(readableLine(line)) };
}

/** One readable line, newline included. A line that is not a JSON object is kept as it is. */
export function readableLine(line: string): string {
  const record = parseRecord(line);
  if (record === null) return line;
  const { level, ts, msg, ...fields } = record;
  const label = String(level).toUpperCase().padEnd(5);
  const colour = isKnownLevel(level) ? COLOURS[level] : 'white';
  const text = String(msg);
  const untold = Object.entries(fields).filter(([, value]) => !isTold(value, text));
  const rest = untold.map(([name, value]) => ` ${styleText('gray', `${name}=`)}${fieldText(value)}`);
  return `${timeOfDay(ts)} ${styleText(colour, label)} ${printable(text)}${rest.join('')}\n`;
}

/** `time⇥LEVEL⇥message⇥{…}`, as access lines have it in this form. */
export function consoleLine(line: string): string {
  const record = parseRecord(line);
  if (record === null) return line;
  const { level, ts, msg, ...fields } = record;
  const time = typeof ts === 'number' ? new Date(ts * 1000).toISOString() : '-';
  const message = printable(String(msg));
  const rest = Object.keys(fields).length === 0 ? '' : `\t${JSON.stringify(fields)}`;
  return `${time}\t${String(level).toUpperCase()}\t${message}${rest}\n`;
}

/** A person need not read twice what the message says in the same words. Short values are there by chance. */
function isTold(value: unknown, message: string): boolean {
  return typeof value === 'string' && value.length >= MIN_TOLD_CHARS && message.includes(value);
}

function parseRecord(line: string): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(line);
    return typeof value === 'object' && value !== null ? { ...value } : null;
  } catch {
    return null;
  }
}

function isKnownLevel(level: unknown): level is KnownLevel {
  return typeof level === 'string' && Object.hasOwn(COLOURS, level);
}

function timeOfDay(ts: unknown): string {
  const date = new Date(typeof ts === 'number' ? ts * 1000 : Number.NaN);
  return Number.isNaN(date.getTime()) ? '--:--:--' : date.toTimeString().slice(0, 8);
}

function fieldText(value: unknown): string {
  return typeof value === 'string' && /^[\w.:/@-]+$/.test(value) ? value : JSON.stringify(value);
}

/** Fields may carry what a peer sent: control characters must not reach the terminal. */
function printable(text: string): string {
  return text.replace(/[\p{Cc}]/gu, (char) => JSON.stringify(char).slice(1, -1));
}
