import type { JsonObject } from '../json.ts';
import { failure } from '../syntax/failure.ts';
import { blockOf, byteSize, duration, flag, integer, one, some } from '../syntax/read.ts';
import type { Statement } from '../syntax/statement.ts';

const MEBIBYTE = 1_048_576;
const DAY_NS = 86_400e9;

type Option = (line: Statement, writer: JsonObject) => void;

const OPTIONS: Readonly<Record<string, Option>> = {
  mode: (line, writer) => void (writer['mode'] = one(line).text),
  dir_mode: (line, writer) => void (writer['dir_mode'] = one(line).text),
  roll_disabled: (line, writer) => {
    flag(line);
    writer['roll'] = false;
  },
  roll_size: (line, writer) => void (writer['roll_size_mb'] = Math.ceil(byteSize(one(line)) / MEBIBYTE)),
  roll_uncompressed: (line, writer) => {
    flag(line);
    writer['roll_gzip'] = false;
  },
  roll_compression: (line, writer) => {
    const kind = one(line);
    if (!['none', 'gzip', 'zstd'].includes(kind.text)) {
      throw failure(kind, `unknown roll_compression '${kind.text}': write none, gzip or zstd`);
    }
    writer['roll_compression'] = kind.text;
  },
  roll_local_time: (line, writer) => {
    flag(line);
    writer['roll_local_time'] = true;
  },
  roll_keep: (line, writer) => void (writer['roll_keep'] = integer(one(line), 'bad roll_keep number')),
  roll_keep_for: (line, writer) => {
    writer['roll_keep_days'] = Math.ceil(duration(one(line), 'bad roll_keep_for duration') / DAY_NS);
  },
  roll_interval: (line, writer) => {
    writer['roll_interval'] = duration(one(line), 'bad roll_interval duration');
  },
  roll_minutes: (line, writer) => {
    writer['roll_minutes'] = listed(line).map((text) => {
      if (!/^\d{1,2}$/.test(text) || Number(text) > 59) throw failure(line.name, `bad roll_minutes number '${text}'`);
      return Number(text);
    });
  },
  roll_at: (line, writer) => void (writer['roll_at'] = listed(line)),
  backup_time_format: (line, writer) => void (writer['backup_time_format'] = one(line).text),
};

/** `output file <path> { … }`. */
export function parseFileWriter(line: Statement): JsonObject {
  const [path, surplus] = line.args;
  if (path === undefined || surplus !== undefined) {
    throw failure(surplus ?? line.name, 'output file takes one path');
  }
  const writer: JsonObject = { output: 'file', filename: path.text };
  for (const option of blockOf(line)) {
    const { text } = option.name;
    const parse = Object.hasOwn(OPTIONS, text) ? OPTIONS[text] : undefined;
    if (parse === undefined) throw failure(option.name, `unrecognized subdirective '${text}'`);
    parse(option, writer);
  }
  return writer;
}

/** Words separated by spaces or commas. */
function listed(line: Statement): string[] {
  return some(line, 1)
    .flatMap((token) => token.text.split(','))
    .filter((text) => text !== '');
}
