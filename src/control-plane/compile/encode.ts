import type { EncodePlan, EncodingPlan, ResponseRequirePlan } from '../../shared/plan/types.ts';
import type { EncodeConfig, EncodingName, ZstdLevel } from '../config/schema/encode.ts';
import type { Compilation } from './compilation.ts';

/** Caddy names the levels of its own encoder after the ones of the reference implementation that they come near to. */
const ZSTD_LEVELS: Readonly<Record<ZstdLevel, number>> = Object.freeze({ fastest: 1, default: 3, better: 7, best: 11 });

/** What is worth the work, as Caddy has it: text, and the formats that are not compressed by themselves. */
const DEFAULT_TYPES: readonly string[] = Object.freeze([
  'application/atom+xml*',
  'application/eot*',
  'application/font*',
  'application/geo+json*',
  'application/graphql+json*',
  'application/graphql-response+json*',
  'application/javascript*',
  'application/json*',
  'application/ld+json*',
  'application/manifest+json*',
  'application/opentype*',
  'application/otf*',
  'application/rss+xml*',
  'application/truetype*',
  'application/ttf*',
  'application/vnd.api+json*',
  'application/vnd.ms-fontobject*',
  'application/wasm*',
  'application/x-httpd-cgi*',
  'application/x-javascript*',
  'application/x-opentype*',
  'application/x-otf*',
  'application/x-perl*',
  'application/x-protobuf*',
  'application/x-ttf*',
  'application/xhtml+xml*',
  'application/xml*',
  'font/*',
  'image/svg+xml*',
  'image/vnd.microsoft.icon*',
  'image/x-icon*',
  'multipart/bag*',
  'multipart/mixed*',
  'text/*',
]);

const DEFAULT_MATCH: ResponseRequirePlan = Object.freeze({ status: [], headers: { 'Content-Type': DEFAULT_TYPES } });

export function compileEncode(run: Compilation, path: string, config: EncodeConfig): EncodePlan {
  const { encodings, prefer, match } = config;
  const enabled = (['zstd', 'gzip', 'br'] as const).filter((name) => encodings[name] !== null);
  if (enabled.length === 0) return run.fail(path, "'encode' names no format: write gzip, zstd or br");
  const others = enabled.filter((name) => !prefer.includes(name));
  return {
    handler: 'encode',
    formats: [...prefer, ...others].map((name) => formatOf(encodings, name)),
    minBytes: config.minimum_length,
    match: match === null ? DEFAULT_MATCH : { status: match.status_code, headers: match.headers },
  };
}

function formatOf({ gzip, zstd, br }: EncodeConfig['encodings'], name: EncodingName): EncodingPlan {
  if (name === 'zstd') return { name, level: ZSTD_LEVELS[zstd!.level] };
  return { name, level: (name === 'gzip' ? gzip : br)!.level };
}
