/** What a backend of the demo answers with. */
export interface Visit {
  /** 1, 2 or 3. */
  readonly backend: number;
  readonly pid: number;
  readonly client: string;
  /** Requests this backend has answered since it started. */
  readonly served: number;
}

const COLOURS: readonly string[] = ['#2563eb', '#15803d', '#b45309'];

export function visitText({ backend, pid, client, served }: Visit): string {
  return `backend ${backend}   client ${client}   request ${served} of this backend   (kill ${pid} to take it down)\n`;
}

export function visitPage({ backend, pid, client, served }: Visit): string {
  const colour = COLOURS[backend - 1] ?? '#334155';
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Backend ${backend}</title>
<style>
  body { margin: 0; min-height: 100vh; display: grid; place-content: center; font: 1.1rem/1.6 system-ui, sans-serif;
    color: #0f172a; background: #f8fafc; }
  main { padding: 2rem 3rem; border-top: .6rem solid ${colour}; border-radius: .5rem; background: #fff; max-width: 32rem;
    box-shadow: 0 .5rem 2rem #0f172a1f; }
  h1 { margin: 0; color: ${colour}; }
  code { background: #e2e8f0; padding: .1rem .4rem; border-radius: .25rem; }
</style>
<main>
  <h1>Backend ${backend}</h1>
  <p>You are <b>${escapeHtml(client)}</b>, and this is request ${served} that this backend answers.
  Reload as often as you like: you stay here.</p>
  <p>Take it down with <code>kill ${pid}</code>, or press <code>${backend}</code> in the terminal of the demo, and
  reload: another backend takes over. When this one is back, so are you.</p>
</main>
</html>
`;
}

function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (char) => `&#${char.charCodeAt(0)};`);
}
