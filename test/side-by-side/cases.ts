/** Sites and requests whose results are compared. `A` and `B` are servers. */

export interface Case {
  readonly name: string;
  /** Lines of the site. */
  readonly site: string;
  /** Lines of the global block. */
  readonly globals?: string;
  /** Heads, with `\n` as line end and perhaps a body behind an empty line. */
  readonly requests: readonly string[];
}

const get = (target: string, ...fields: readonly string[]): string =>
  [`GET ${target} HTTP/1.1`, 'Host: site.example', 'User-Agent: test', 'Accept-Encoding: identity', ...fields].join(
    '\n',
  );
const send = (method: string, target: string, body: string, ...fields: readonly string[]): string =>
  `${get(target, ...fields).replace('GET', method)}\n\n${body}`;

export const CASES: readonly Case[] = [
  {
    name: 'a bare proxy passes requests and answers',
    site: 'reverse_proxy A',
    requests: [
      get('/'),
      get('/a%2Fb//c/./d;p=1?x=%zz&y=a+b&&z'),
      get('/created'),
      get('/teapot', 'Cookie: a=1; b=2', 'X-Twice: 1', 'X-Twice: 2', 'Accept: text/html', 'Referer: http://r.example/'),
      send('POST', '/form', 'name=value', 'Content-Type: application/x-www-form-urlencoded'),
      send('PUT', '/put', 'text'),
      send('PATCH', '/patch', '{}'),
      get('/head').replace('GET', 'HEAD'),
      get('/options').replace('GET', 'OPTIONS'),
      get('/delete').replace('GET', 'DELETE'),
      get('/purge').replace('GET', 'PURGE'),
    ],
  },
  {
    name: 'forwarding fields of strangers are replaced',
    site: 'reverse_proxy A',
    requests: [
      get('/', 'X-Forwarded-For: 203.0.113.5', 'X-Forwarded-Proto: https', 'X-Forwarded-Host: evil.example'),
      get('/', 'X-Real-IP: 203.0.113.5', 'Forwarded: for=203.0.113.5', 'X-Forwarded-Port: 1', 'Via: 1.0 before'),
    ],
  },
  {
    name: 'forwarding fields of trusted proxies are extended',
    site: 'reverse_proxy A {\ntrusted_proxies 127.0.0.0/8\n}',
    requests: [
      get('/', 'X-Forwarded-For: 203.0.113.5', 'X-Forwarded-Proto: https', 'X-Forwarded-Host: outer.example'),
      get('/', 'X-Forwarded-For: 203.0.113.5, 198.51.100.7'),
      get('/', 'X-Forwarded-For: 203.0.113.5', 'X-Forwarded-For: 198.51.100.7'),
      get('/'),
    ],
  },
  {
    name: 'what belongs to one connection is taken off',
    site: 'reverse_proxy A',
    requests: [
      get(
        '/',
        'Keep-Alive: timeout=5',
        'Proxy-Connection: keep-alive',
        'TE: deflate',
        'Proxy-Authorization: Basic eDp5',
      ),
      get('/', 'Authorization: Basic eDp5', 'Cache-Control: no-cache', 'If-None-Match: "x"', 'Range: bytes=0-1'),
    ],
  },
  {
    name: 'header operations up and down',
    site: `reverse_proxy A {
  header_up Host {upstream_hostport}
  header_up X-Set set
  header_up +X-Added added
  header_up -X-Removed
  header_up X-Replaced ^(.*)-tail$ $1-changed
  header_up X-Client {remote_host}
  header_up X-Uri {uri}
  header_up X-From-Header {header.X-Source}
  header_down -X-Powered-By
  header_down Server changed
  header_down +X-Down one
  header_down Location origin.internal public.example
}`,
    requests: [
      get('/p?q=1', 'X-Set: before', 'X-Added: before', 'X-Removed: x', 'X-Replaced: a-tail', 'X-Source: here'),
      get('/other', 'X-Removed: x', 'X-Removed: y', 'X-Replaced: nothing'),
    ],
  },
  {
    name: 'header and request_header directives',
    site: `header {
  X-Set set
  +X-Added added
  -X-Powered-By
  ?X-Default default
  ?Server mine
  Cache-Control max-age max-old
  defer
}
request_header X-Req req
request_header -X-Gone
request_header +X-More more
request_header X-Sub old new
reverse_proxy A`,
    requests: [get('/', 'X-Gone: 1', 'X-More: first', 'X-Sub: the old one'), get('/teapot')],
  },
  {
    name: 'headers before an answer of our own',
    site: 'header X-Set set\nheader /only/* X-Only only\nheader ?X-Set other\nrespond "body" 203',
    requests: [get('/'), get('/only/here'), get('/').replace('GET', 'HEAD')],
  },
  {
    name: 'redirects',
    site: `redir /plain /to
redir /permanent /to permanent
redir /temporary /to temporary
redir /code https://x.example{uri} 308
redir /html /to html
redir /path/* /new{path}?{query}
reverse_proxy A`,
    requests: ['/plain', '/permanent', '/temporary', '/code?a=b', '/path/x/y?q=1', '/none'].map((target) =>
      get(target),
    ),
  },
  {
    name: 'respond in its forms',
    site: `respond /status 404
respond /text "hello"
respond /both "gone" 410
respond /block 200 {
  body "from a block"
  close
}
respond /value "{method} {host} {path} {query}"
respond "rest" 200`,
    requests: ['/status', '/text', '/both', '/block', '/value?x=y', '/other'].map((target) => get(target)),
  },
  {
    name: 'handle: the first that matches, longest path first',
    site: `handle /api/* {
  reverse_proxy A
}
handle /api/special/* {
  reverse_proxy B
}
handle {
  respond "neither"
}`,
    requests: ['/api/x', '/api/special/x', '/api', '/API/x', '/other'].map((target) => get(target)),
  },
  {
    name: 'handle_path takes the prefix off',
    site: `handle_path /strip/* {
  reverse_proxy A
}
handle_path /exact {
  reverse_proxy B
}
handle {
  respond "{path}"
}`,
    requests: ['/strip/a/b?q=1', '/strip/', '/strip', '/exact', '/exact/more', '/strip//double', '/strip/a%2Fb'].map(
      (target) => get(target),
    ),
  },
  {
    name: 'route keeps the order as written',
    site: `route {
  rewrite /old/* /new{uri}
  request_header X-Path {path}
  header X-Route yes
  reverse_proxy /new/* A
  reverse_proxy B
}`,
    requests: ['/old/x?a=b', '/new/y', '/z'].map((target) => get(target)),
  },
  {
    name: 'directives outside a route run in the fixed order',
    site: `reverse_proxy A
request_header X-Path {path}
rewrite /old/* /new{uri}
uri strip_prefix /new
header X-Late {path}`,
    requests: ['/old/x?a=b', '/new/y', '/z'].map((target) => get(target)),
  },
  {
    name: 'rewrites',
    site: `rewrite /to-path /fixed
rewrite /to-query /fixed?a=1
rewrite /keep* /kept?{query}&more=2
rewrite /only-query ?x=y
rewrite /placeholder /p{path}/{method}
reverse_proxy A`,
    requests: ['/to-path?q=1', '/to-query?q=1', '/keep?q=1', '/keep', '/only-query?q=1', '/placeholder?q'].map(
      (target) => get(target),
    ),
  },
  {
    name: 'uri: strip and replace',
    site: `uri /pre/* strip_prefix /pre
uri /suf/* strip_suffix .html
uri /rep/* replace /a/ /b/
reverse_proxy A`,
    requests: ['/pre/x?y', '/pre', '/suf/page.html?q=1.html', '/suf/page', '/rep/a/c/a/d?x=/a/'].map((target) =>
      get(target),
    ),
  },
  {
    name: 'the method directive changes what the server sees',
    site: 'method /post POST\nreverse_proxy A',
    globals: 'order method before rewrite',
    requests: [get('/post'), get('/get')],
  },
  {
    name: 'path matchers',
    site: `@exact path /exact
@prefix path /prefix/*
@suffix path *.php
@middle path /a/*/c
@inner path *inner*
respond @exact "exact"
respond @prefix "prefix"
respond @suffix "suffix"
respond @middle "middle"
respond @inner "inner"
respond "none"`,
    requests: [
      '/exact',
      '/EXACT',
      '/exact/',
      '/exact?q',
      '/prefix/',
      '/prefix',
      '/prefix/a/b',
      '/x/y.php',
      '/x.php/z',
      '/a/b/c',
      '/a/b/b/c',
      '/an-inner-one',
      '/%65xact',
      '/prefix/../exact',
      '//exact',
    ].map((target) => get(target)),
  },
  {
    name: 'matchers of method, query, header, host, address and protocol',
    site: `@post method POST PUT
@query query a=1 b=*
@header header X-Kind *special*
@absent header !X-Kind
@host host other.example *.wild.example
@remote remote_ip 127.0.0.0/8
@plain protocol http
respond @post "post"
respond @query "query"
respond @header "header"
respond @host "host"
route {
  @all {
    remote_ip 127.0.0.1
    protocol http
    not header X-Kind *
  }
  respond @all "all of them"
  respond @absent "absent"
  respond @remote "remote"
  respond @plain "plain"
}`,
    requests: [
      send('POST', '/', 'x'),
      get('/?a=1'),
      get('/?a=2'),
      get('/?b='),
      get('/?b=anything&a=2'),
      get('/', 'X-Kind: very special one'),
      get('/', 'X-Kind: plain'),
      get('/').replace('site.example', 'other.example'),
      get('/').replace('site.example', 'OTHER.example:1234'),
      get('/').replace('site.example', 'a.wild.example'),
      get('/').replace('site.example', 'a.b.wild.example'),
      get('/'),
    ],
  },
  {
    name: 'not, and several matchers in a set',
    site: `@mixed {
  path /m/*
  not path /m/no/*
  method GET HEAD
}
@either {
  not method GET
  not path /x
}
respond @mixed "mixed"
respond @either "either"
respond "none"`,
    requests: [get('/m/a'), get('/m/no/a'), send('POST', '/m/a', 'x'), get('/x'), send('POST', '/y', 'x')],
  },
  {
    name: 'vars and placeholders',
    site: `vars tier web
vars {
  color blue
}
respond "{vars.tier} {vars.color} {scheme} {hostport} {labels.1} {path.0} {dir} {file} {query.a} {http.request.orig_uri} {cookie.c}"`,
    requests: [get('/one/two/three.txt?a=b&c=d', 'Cookie: c=biscuit'), get('/', 'Cookie: c=1')],
  },
  {
    name: 'handle and route inside each other, and a snippet',
    site: `handle /out/* {
  header X-Out yes
  handle_path /out/in/* {
    header X-In yes
    route /a/* {
      uri strip_prefix /a
      reverse_proxy A
    }
    reverse_proxy B
  }
  handle {
    respond "out only" 201
  }
}
redir /from/* /to/{path.1}
respond * "{path}" 404`,
    requests: ['/out/in/a/x', '/out/in/b', '/out/in/', '/out/x', '/from/here/there', '/none'].map((target) =>
      get(target),
    ),
  },
  {
    name: 'operations on fields that come several times',
    site: `header /gone -Set-Cookie
header /changed Set-Cookie Path=/ Path=/app
header /wild -X-*
header /added +Set-Cookie c=3
reverse_proxy A {
  header_up X-Many (\\d) <$1>
  header_up -X-Drop-*
}`,
    requests: [
      get('/gone'),
      get('/changed', 'X-Many: 1', 'X-Many: 2', 'X-Drop-One: 1', 'X-Drop-Two: 2', 'X-Dropped: no'),
      get('/wild'),
      get('/added'),
    ],
  },
  {
    name: 'a placeholder cannot split a field',
    site: 'header X-Query {query.q}\nreverse_proxy A {\nheader_up X-Query {query.q}\n}',
    requests: [get('/?q=plain'), get('/?q=a%20b%2Bc'), get('/?q=caf%C3%A9'), get('/?q='), get('/')],
  },
  {
    name: 'abort gives no answer',
    site: 'abort /gone\nrespond "here"',
    requests: [get('/gone'), get('/')],
  },
  {
    name: 'paths that need care',
    site: `handle_path /files/* {
  reverse_proxy A
}
@encoded path /enc%2Foded/*
handle @encoded {
  respond "encoded"
}
handle /sp*ce/* {
  respond "star"
}
handle {
  reverse_proxy B
}`,
    requests: [
      '/files/a%20b',
      '/FILES/a',
      '/files/%2e%2e/x',
      '/files/../x',
      '/files/?',
      '/files/a?b?c',
      '/enc%2foded/x',
      '/enc/oded/x',
      '/sp%61ce/x',
      '/a%00b',
      '/a|b^c{d}',
      '/%E4%B8%AD',
    ].map((target) => get(target)),
  },
  {
    name: 'errors and their routes',
    site: `error /forbidden "no entry" 403
error /teapot 418
error /plain "only a message"
handle_errors {
  @missing expression {err.status_code} == 403
  header X-Error {err.status_code}
  respond @missing "{err.status_code} {err.status_text}: {err.message}"
  respond "other {err.status_code}"
}
reverse_proxy /down 127.0.0.1:1
reverse_proxy A`,
    requests: ['/forbidden', '/teapot', '/plain', '/down', '/fine'].map((target) => get(target)),
  },
  {
    name: 'regular expressions in matchers and rewrites',
    site: `@id path_regexp id ^/item/([0-9]+)/(\\w+)$
@agent header_regexp agent User-Agent ^te(s)t$
@agent-special {
  header_regexp kind X-Kind ^(a|b)-(.*)$
  path /kind
}
rewrite @id /by-id?id={re.id.1}&name={re.id.2}
respond @agent-special "{re.kind.1} and {re.kind.2}"
header @agent X-Agent {re.agent.1}
uri path_regexp /{2,} /
reverse_proxy A`,
    requests: [
      get('/item/12/name'),
      get('/item/x/name'),
      get('/kind', 'X-Kind: b-rest'),
      get('/kind', 'X-Kind: c-rest'),
      get('/many///slashes//here?a=//'),
    ],
  },
  {
    name: 'map',
    site: `map {path} {kind} {code} {
  /a first 201
  ~^/b/(.*)$ "second \${1}" 202
  /c - 203
  default other 200
}
respond "{kind}" {code}`,
    requests: ['/a', '/b/more', '/c', '/d'].map((target) => get(target)),
  },
  {
    name: 'expressions and variables as matchers',
    site: `vars /red* color red
@red vars {vars.color} red
@sum expression \`{method} == "GET" && {path}.startsWith("/sum")\`
@in expression {query.x} in ["1", "2"]
@func expression path('/func/*') && !header({'X-No': '*'})
route {
  respond @red "red"
  respond @sum "sum"
  respond @in "in"
  respond @func "func"
  respond "none"
}`,
    requests: [
      get('/red'),
      get('/sum/x'),
      send('POST', '/sum/x', 'x'),
      get('/?x=2'),
      get('/?x=3'),
      get('/func/a'),
      get('/func/a', 'X-No: 1'),
    ],
  },
  {
    name: 'a limit on request bodies',
    site: 'request_body /small {\nmax_size 8\n}\nreverse_proxy A',
    requests: [send('POST', '/small', 'fits'), send('POST', '/free', 'long enough to be too long')],
  },
  {
    name: 'no server that could be asked',
    site: 'reverse_proxy 127.0.0.1:1',
    requests: [get('/'), send('POST', '/', 'x')],
  },
  {
    name: 'first, with another server behind it',
    site: 'reverse_proxy A B {\nlb_policy first\n}',
    requests: [get('/1'), get('/2')],
  },
  {
    name: 'requests that are not HTTP/1.1 as usual',
    site: 'reverse_proxy A',
    requests: [
      get('http://absolute.example/x?y').replace('site.example', 'other.example'),
      'GET /old HTTP/1.0\nHost: site.example\nUser-Agent: test\nAccept-Encoding: identity',
      get('/').replace('User-Agent: test\n', ''),
      get('/').replace('Accept-Encoding: identity', 'Accept-Encoding: gzip, br'),
      get('/').replace('Accept-Encoding: identity\n', '').replace('\nAccept-Encoding: identity', ''),
    ],
  },
];
