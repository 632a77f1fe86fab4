/**
 * Rules of our own: which folder may import which, no mutable module state, and what the hot path may
 * not do. Each rule says why.
 */

/** Planes by folder, and the folders each may import from. Dependencies point one way. */
const PLANES = [
  { name: 'shared', at: /\/src\/shared\//, mayImport: ['shared'] },
  { name: 'data-plane', at: /\/src\/data-plane\//, mayImport: ['shared', 'data-plane'] },
  { name: 'control-plane', at: /\/src\/control-plane\//, mayImport: ['shared', 'control-plane', 'pure'] },
  { name: 'cli', at: /\/src\/cli\//, mayImport: ['shared', 'control-plane', 'pure', 'cli', 'library'] },
  { name: 'library', at: /\/src\/[^/]+\.ts$/, mayImport: ['shared', 'control-plane', 'library'] },
];

/** Parts of the data plane without I/O, clock or chance: `explain` and `hash` get a worker's own answer from them. */
const PURE_FILES = [
  'http1/(head|limits|errors|request-parser)',
  'layer4/(answer|flow-request|flow-view|quic-packet|routes)',
  'pool/pool',
  'proxy/(error-response|error-route|hop-fields|proxy-values|request-facts|request-lines)',
  'process-facts',
];
const PURE = new RegExp(`/src/data-plane/((select|client-ip|route|cel)/|(${PURE_FILES.join('|')})\\.ts$)`);

/** Folders that run per request or per byte. */
const HOT = /\/src\/data-plane\/(http1|select|client-ip|proxy|pool)\/|\/src\/data-plane\/(runtime|wheel)\.ts$/;
const TEST = /\.(test|contract)\.ts$/;

function planeOf(path) {
  if (PURE.test(path)) return 'pure';
  return PLANES.find((plane) => plane.at.test(path))?.name ?? null;
}

const planes = {
  create(context) {
    const file = context.filename ?? context.getFilename();
    const own = PLANES.find((plane) => plane.at.test(file));
    if (own === undefined || TEST.test(file)) return {};
    const check = (node) => {
      const source = node.source?.value;
      if (typeof source !== 'string' || !source.startsWith('.')) return;
      const target = new URL(source, `file://${file}`).pathname;
      const plane = planeOf(target);
      if (plane === null || own.mayImport.includes(plane)) return;
      if (plane === 'pure' && own.mayImport.includes('data-plane')) return;
      context.report({ node, message: `${own.name} must not import ${plane} (${source}): dependencies point one way` });
    };
    return { ImportDeclaration: check, ExportNamedDeclaration: check, ExportAllDeclaration: check };
  },
};

const MUTABLE = new Set(['Map', 'Set', 'WeakMap', 'WeakSet', 'Array', 'Registry', 'Pool', 'EventEmitter']);

const moduleState = {
  create(context) {
    const file = context.filename ?? context.getFilename();
    if (!/\/src\//.test(file) || TEST.test(file)) return {};
    const report = (node, what) =>
      context.report({ node, message: `${what} at module level: two balancers in one process must share nothing` });
    return {
      Program(program) {
        for (const statement of program.body) {
          const declaration = statement.type === 'ExportNamedDeclaration' ? statement.declaration : statement;
          if (declaration?.type !== 'VariableDeclaration') continue;
          if (declaration.kind !== 'const') report(declaration, `'${declaration.kind}'`);
          for (const { init, id } of declaration.declarations) {
            const type = id.typeAnnotation?.typeAnnotation?.typeName?.name ?? '';
            if (init?.type !== 'NewExpression' || !MUTABLE.has(init.callee.name) || /^Readonly/.test(type)) continue;
            report(init, `a mutable ${init.callee.name}`);
          }
        }
      },
    };
  },
};

const BANNED_CALLS = new Set(['setTimeout', 'setInterval', 'queueMicrotask']);

const hotPath = {
  create(context) {
    const file = context.filename ?? context.getFilename();
    if (!HOT.test(file) || TEST.test(file)) return {};
    const report = (node, message) => context.report({ node, message: `hot path: ${message}` });
    return {
      CallExpression(node) {
        const name = node.callee.name ?? '';
        if (BANNED_CALLS.has(name)) report(node, `${name} makes a timer or task a request; use the wheel or the clock`);
        if (name === 'require') report(node, 'no require');
      },
      AwaitExpression(node) {
        if (!/runtime\.ts$/.test(file)) report(node, 'await makes a promise a request; use the callbacks of the seam');
      },
      ImportDeclaration(node) {
        const source = node.source.value;
        if (/^(node:)?(http|https|http2|stream|events|assert)(\/|$)/.test(source)) {
          report(node, `'${source}' has no place in the data path`);
        }
      },
      MemberExpression(node) {
        if (node.object.name === 'Date' && node.property.name === 'now')
          report(node, 'time is an argument: use the clock');
        if (node.object.name === 'Math' && node.property.name === 'random') report(node, 'chance is an argument');
      },
    };
  },
};

export default {
  meta: { name: 'holdfast' },
  rules: { planes, 'module-state': moduleState, 'hot-path': hotPath },
};
