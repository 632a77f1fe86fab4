/** Servers of others, each with a config of its own in a temporary folder and one folder of files to serve. */
import { chmod, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { findProgram, freePort, startServer, temporaryFolder, unlessInstalled } from '../support/program.ts';

export interface Peer {
  readonly port: number;
}

export interface PeerKind {
  readonly name: string;
  /** The protocol version of its answers. */
  readonly version: '1.0' | '1.1';
  /** Whether parts of a file can be asked for. */
  readonly ranges: boolean;
  readonly skip: false | string;
  start(t: TestContext): Promise<Peer>;
}

/** 3 MiB in which every line differs, so that nothing lost, doubled or moved goes unseen. */
export const LARGE: Buffer = Buffer.from(
  Array.from({ length: 3 << 16 }, (_, line) => `${String(line).padStart(15, '.')}\n`).join(''),
);
/** Large enough that servers think it worth packing. */
export const SMALL: string = 'hello from a file\n'.repeat(40);

const NGINX = findProgram('nginx');
const APACHE = findProgram('apache2', 'httpd');
/** Debian's own first: a version manager's may be a script that looks for others. */
const PYTHON = findProgram('python3');

async function folderWithFiles(t: TestContext): Promise<{ folder: string; files: string }> {
  const folder = await temporaryFolder(t);
  const files = join(folder, 'files');
  // Apache's children are somebody else.
  await chmod(folder, 0o755);
  await mkdir(join(files, 'sub'), { recursive: true });
  await writeFile(join(files, 'small.txt'), SMALL);
  await writeFile(join(files, 'large.bin'), LARGE);
  await writeFile(join(files, 'empty.txt'), '');
  await writeFile(join(files, 'sub', 'index.html'), '<p>sub</p>\n');
  return { folder, files };
}

const nginx: PeerKind = {
  name: 'nginx',
  version: '1.1',
  ranges: true,
  skip: unlessInstalled(NGINX, 'nginx'),
  async start(t) {
    const { folder, files } = await folderWithFiles(t);
    const port = await freePort();
    const config = join(folder, 'nginx.conf');
    const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'];
    await writeFile(
      config,
      `${process.getuid?.() === 0 ? 'user root;' : ''}
daemon off; master_process off; worker_processes 1; pid ${folder}/pid; error_log ${folder}/error.log;
events { worker_connections 256; }
http {
  types { text/html html; text/plain txt; } default_type application/octet-stream;
  access_log off; keepalive_timeout 60s; client_max_body_size 16m;
  gzip on; gzip_types text/plain; gzip_min_length 1;
  # Without it nginx packs nothing for requests that carry a Via.
  gzip_proxied any;
  ${temporary.map((name) => `${name}_temp_path ${folder}/${name};`).join(' ')}
  server {
    listen 127.0.0.1:${port}; root ${files}; absolute_redirect off;
    location /seen { return 200 "$request_method $request_uri $http_host $http_x_forwarded_for"; }
    location /moved { return 301 http://$http_host/small.txt; }
  }
}
`,
    );
    await startServer(t, NGINX!, ['-c', config, '-p', folder, '-e', join(folder, 'start.log')], port);
    return { port };
  },
};

const apache: PeerKind = {
  name: 'Apache',
  version: '1.1',
  ranges: true,
  skip: unlessInstalled(APACHE, 'apache2'),
  async start(t) {
    const { folder, files } = await folderWithFiles(t);
    const port = await freePort();
    const config = join(folder, 'apache.conf');
    const modules = ['mpm_event', 'authz_core', 'mime', 'dir', 'alias', 'deflate', 'filter'];
    await writeFile(
      config,
      `ServerRoot ${folder}
ServerName localhost
${modules.map((name) => `LoadModule ${name}_module /usr/lib/apache2/modules/mod_${name}.so`).join('\n')}
Listen 127.0.0.1:${port}
PidFile ${folder}/pid
ErrorLog ${folder}/error.log
DocumentRoot ${files}
DirectoryIndex index.html
KeepAlive On
KeepAliveTimeout 60
MaxKeepAliveRequests 0
StartServers 1
TypesConfig /dev/null
AddType text/plain .txt
AddOutputFilterByType DEFLATE text/plain
Redirect permanent /moved /small.txt
User www-data
Group www-data
`,
    );
    await startServer(t, APACHE!, ['-f', config, '-DFOREGROUND'], port, { endSignal: 'SIGTERM' });
    return { port };
  },
};

const pythonFiles: PeerKind = {
  name: 'Python http.server',
  version: '1.0',
  ranges: false,
  skip: unlessInstalled(PYTHON, 'python3'),
  async start(t) {
    const { files } = await folderWithFiles(t);
    const port = await freePort();
    const args = ['-m', 'http.server', String(port), '--bind', '127.0.0.1', '--directory', files];
    await startServer(t, PYTHON!, args, port);
    return { port };
  },
};

/** Servers that serve the folder of files. */
export const FILE_SERVERS: readonly PeerKind[] = [nginx, apache, pythonFiles];

/** Answers chunk by chunk in HTTP/1.1, takes chunked uploads, and sends bytes that are not ASCII in fields. */
const STREAMER = `
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

class Handler(BaseHTTPRequestHandler):
    protocol_version = 'HTTP/1.1'

    def chunk(self, data):
        self.wfile.write(b'%x\\r\\n' % len(data) + data + b'\\r\\n')
        self.wfile.flush()

    def do_GET(self):
        count = int(self.path.rsplit('/', 1)[1])
        self.send_response(200)
        self.send_header('Content-Type', 'text/plain')
        self.send_header('Content-Disposition', 'attachment; filename="\\xe4\\xb8\\xad.pdf"')
        self.send_header('Set-Cookie', 'a=1')
        self.send_header('SET-COOKIE', 'b=2')
        self.send_header('Transfer-Encoding', 'chunked')
        self.end_headers()
        for number in range(count):
            self.chunk(b'line %d\\n' % number)
        self.chunk(b'')

    def do_POST(self):
        body = b''
        if self.headers.get('Transfer-Encoding') == 'chunked':
            while True:
                size = int(self.rfile.readline().split(b';')[0], 16)
                body += self.rfile.read(size)
                self.rfile.readline()
                if size == 0:
                    break
        else:
            body = self.rfile.read(int(self.headers['Content-Length']))
        self.send_response(200)
        self.send_header('Content-Length', str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args):
        pass

ThreadingHTTPServer(('127.0.0.1', int(sys.argv[1])), Handler).serve_forever()
`;

export const pythonStreamer: PeerKind = {
  name: 'Python streamer',
  version: '1.1',
  ranges: false,
  skip: unlessInstalled(PYTHON, 'python3'),
  async start(t) {
    const port = await freePort();
    await startServer(t, PYTHON!, ['-c', STREAMER, String(port)], port);
    return { port };
  },
};
