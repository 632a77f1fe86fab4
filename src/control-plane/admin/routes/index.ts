import { ConfigAccess } from '../config-access.ts';
import type { AdminContext } from '../context.ts';
import type { Route } from '../exchange.ts';
import { adaptRoute } from './adapt.ts';
import { configRoute, idRoute } from './config.ts';
import { eventsRoute } from './events.ts';
import { explainRoute } from './explain.ts';
import { liveRoute, readyRoute } from './health.ts';
import { loadRoute } from './load.ts';
import { metricsRoute } from './metrics.ts';
import { reverseProxyUpstreamsRoute } from './reverse-proxy-upstreams.ts';
import { stopRoute } from './stop.ts';
import { upstreamsRoute } from './upstreams.ts';

/** Every route of the admin API. */
export function createAdminRoutes(context: AdminContext): readonly Route[] {
  const access = new ConfigAccess(context);
  return [
    loadRoute(context),
    configRoute(access),
    idRoute(access),
    adaptRoute(context),
    stopRoute(context),
    reverseProxyUpstreamsRoute(context),
    upstreamsRoute(context),
    liveRoute(),
    readyRoute(context),
    metricsRoute(context),
    explainRoute(context),
    eventsRoute(context),
  ];
}
