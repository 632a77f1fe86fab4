/**
 * The ACME library, loaded when the first order is made. It has one HTTP client for the whole process; what an
 * order needs of its own (whom to trust, when to give up) reaches it through the asynchronous context.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import type { Agent } from 'node:https';
import { axios } from 'acme-client';

const REQUEST_TIMEOUT_MS = 30_000;

export interface CallContext {
  readonly agent: Agent;
  readonly signal: AbortSignal;
  /** `Retry-After` of the last answer that was an error; undefined = it had none. */
  retryAfter: unknown;
}

const calls = new AsyncLocalStorage<CallContext>();

// It would sleep as long as an authority wants, inside of a call: when to ask again is decided elsewhere.
const { acmeSettings } = axios.defaults as unknown as { readonly acmeSettings: { retryMaxAttempts: number } };
acmeSettings.retryMaxAttempts = 0;
axios.interceptors.request.use((config) => {
  const call = calls.getStore();
  if (call === undefined) return config;
  config.timeout = REQUEST_TIMEOUT_MS;
  config.signal = call.signal;
  config.httpsAgent = call.agent;
  return config;
});
axios.interceptors.response.use((response) => {
  const call = calls.getStore();
  if (call !== undefined && response.status >= 400) call.retryAfter = response.headers['retry-after'];
  return response;
});

/** Runs `work`; every request it makes is made under `call`. */
export function withinCall<T>(call: CallContext, work: () => Promise<T>): Promise<T> {
  return calls.run(call, work);
}

export { Client, crypto } from 'acme-client';
