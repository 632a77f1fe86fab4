/** `respond`, `redir`, `abort`: answers without an upstream. */
import { ConfigError } from '../../shared/config-error.ts';
import type { StaticResponsePlan } from '../../shared/plan/types.ts';
import { fromBytes } from './bytes.ts';
import { ABORT, type AbortDecision, type RespondDecision, type RouteState } from './decision.ts';
import { checkFieldName, findField, isOwnField } from './field-list.ts';
import type { ProcessFacts } from './placeholder/placeholder.ts';
import type { RequestView } from './request-view.ts';
import { compileTemplate, type Template } from './template.ts';
import type { ValueEncoding } from './value-encoding.ts';

const TEXT = 'text/plain; charset=utf-8';
const JSON_TYPE = 'application/json';

type Respond = (request: RequestView, state: RouteState) => RespondDecision | AbortDecision;

/** Throws `ConfigError` for a status that is none of 200 … 999, bad field names and bad placeholders. */
export function compileStaticResponse(plan: StaticResponsePlan, facts: ProcessFacts): Respond {
  if (plan.abort) return () => ABORT;
  const status = compileStatus(plan.statusCode, facts);
  const fields = compileFields(plan.headers, facts);
  const body = compileTemplate(plan.body, 'known', { encoding: bodyEncoding(plan.headers), facts });
  const constantBody = body.constant === null ? null : fromBytes(body.constant);
  const constantType = constantBody === null ? null : contentTypeOf(constantBody);
  return (request, state) => {
    const lines = fields.flatMap(([name, value]) => [name, value.render(request)]);
    const text = constantBody ?? fromBytes(body.render(request));
    const isTyped = [lines, state.responseFields].some((list) => findField(list, 'content-type', 0) >= 0);
    if (text !== '' && !isTyped) lines.push('Content-Type', constantType ?? contentTypeOf(text));
    return { kind: 'respond', status: status(request), fields: lines, body: text, close: plan.close };
  };
}

/**
 * '' is the status of the error that is being answered, else 200. A placeholder that turns out to be no status is our
 * fault, not the client's: 500.
 */
export function compileStatus(text: string, facts: ProcessFacts): (request: RequestView) => number {
  if (text === '') return ({ notes }) => notes?.error?.status ?? 200;
  const template = compileTemplate(text, 'all', { encoding: 'text', facts });
  if (template.constant === null) return (request) => parseStatus(template.render(request)) ?? 500;
  const status = parseStatus(template.constant);
  if (status === null) {
    throw new ConfigError(`'${text}' is not a final HTTP status code; give three digits from 200 to 999`);
  }
  return () => status;
}

function parseStatus(text: string): number | null {
  return /^[2-9]\d\d$/.test(text) ? Number(text) : null;
}

function compileFields(headers: StaticResponsePlan['headers'], facts: ProcessFacts): [name: string, value: Template][] {
  return Object.entries(headers).flatMap(([name, values]) => {
    if (isOwnField(checkFieldName(name).toLowerCase())) return [];
    return values.map((value): [string, Template] => [name, compileTemplate(value.trim(), 'all', { facts })]);
  });
}

/** In a page (`redir … html`) values of the request are text, never markup. */
function bodyEncoding(headers: StaticResponsePlan['headers']): ValueEncoding {
  const types = Object.entries(headers).flatMap(([name, values]) =>
    name.toLowerCase() === 'content-type' ? values : [],
  );
  return types.some((type) => type.trim().toLowerCase().startsWith('text/html')) ? 'markup' : 'text';
}

/** Text unless the whole body is a JSON object or array. */
function contentTypeOf(body: string): string {
  const text = body.trim();
  const isEnclosed = (text.startsWith('{') && text.endsWith('}')) || (text.startsWith('[') && text.endsWith(']'));
  return text.length > 2 && isEnclosed && isJson(text) ? JSON_TYPE : TEXT;
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
