import { readDrain } from '../../read-drain.ts';
import { failure } from '../../syntax/failure.ts';
import { byteSize, duration, flag, integer, one } from '../../syntax/read.ts';
import type { Statement } from '../../syntax/statement.ts';
import { put, type Subdirective, type SubdirectiveTable } from './draft.ts';

/** Bytes, or `unlimited` = −1. */
const buffer: Subdirective = (line, draft) => {
  const token = one(line);
  put(draft, draft.fields, line.name.text, token.text === 'unlimited' ? -1 : byteSize(token), line);
};

const time: Subdirective = (line, draft) => put(draft, draft.fields, line.name.text, duration(one(line)), line);

/** How bodies and tunnels are moved. */
export const STREAMING_SUBDIRECTIVES: SubdirectiveTable = {
  flush_interval: (line, draft) => put(draft, draft.fields, 'flush_interval', flushInterval(line), line),
  request_buffers: buffer,
  response_buffers: buffer,
  stream_buffer_size: buffer,
  stream_timeout: time,
  stream_close_delay: time,
  drain: (line, draft) => put(draft, draft.fields, 'drain', readDrain(line), line),
  verbose_logs: (line, draft) => {
    flag(line);
    if (draft.fields['verbose_logs'] === true) throw failure(line.name, 'verbose_logs already specified');
    put(draft, draft.fields, 'verbose_logs', true, line);
  },
};

/** A duration or a number of nanoseconds; negative = write at once. */
function flushInterval(line: Statement): number {
  const token = one(line);
  return /^-?\d+$/.test(token.text) ? integer(token, 'bad duration value') : duration(token);
}
