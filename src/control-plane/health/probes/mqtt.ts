import { attempt } from '../attempt.ts';
import type { Probe } from '../probe.ts';
import type { MqttProbeSpec } from '../probe-spec.ts';
import { connect } from './connection.ts';
import { Conversation, mismatch } from './conversation.ts';

/** CONNECT, clean session, keep-alive 10 s, no client id: MQTT 3.1.1 section 3.1, MQTT 5.0 section 3.1. */
const CONNECT: Readonly<Record<3 | 5, Buffer>> = Object.freeze({
  3: Buffer.from('100c00044d5154540402000a0000', 'hex'),
  5: Buffer.from('100d00044d5154540502000a000000', 'hex'),
});
const DISCONNECT = Buffer.from('e000', 'hex');
const CONNACK = 0x20;
/** Refusals that only a living broker makes: who are you? */
const WANTS_LOGIN: Readonly<Record<3 | 5, ReadonlySet<number>>> = Object.freeze({
  3: new Set([4, 5]),
  5: new Set([0x85, 0x86, 0x87, 0x8c]),
});

/** `mqtt`: CONNECT, CONNACK, DISCONNECT. A broker that asks for a login is alive. */
export function mqttCheck(spec: MqttProbeSpec): Probe {
  return {
    run: (target, options, deps) =>
      attempt(options.timeoutMs, deps, async (run) => {
        const line = new Conversation(run, await connect(run, target, { ...options, tls: null }));
        line.send(CONNECT[spec.version], `CONNECT of MQTT ${spec.version === 3 ? '3.1.1' : '5'}`);
        const code = await line.receive('CONNACK', readCode);
        if (code !== 0 && !WANTS_LOGIN[spec.version].has(code)) throw mismatch(`CONNACK with code ${code}`);
        if (code === 0) line.send(DISCONNECT, 'DISCONNECT');
        line.leave('fin');
        return { detail: code === 0 ? 'CONNACK' : `CONNACK with code ${code}: it wants a login` };
      }),
  };
}

/** Fixed header, then flags and the code. */
function readCode(bytes: Buffer): { value: number; taken: number } | undefined {
  if (bytes.length > 0 && bytes[0] !== CONNACK) throw mismatch(`packet type 0x${bytes[0]!.toString(16)}, not CONNACK`);
  if (bytes.length < 4) return undefined;
  // The length takes one byte for 3.1.1; the properties of 5 can make it longer.
  let at = 1;
  while (at < 5 && at < bytes.length && (bytes[at]! & 0x80) !== 0) at += 1;
  if (bytes.length < at + 3) return undefined;
  return { value: bytes[at + 2]!, taken: at + 3 };
}
