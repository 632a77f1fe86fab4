/** The acceptor thread, with an exception a moment after it starts. */
await import('../../src/data-plane/acceptor.ts');

setTimeout(() => {
  throw new Error('thrown by the acceptor');
}, 300);
