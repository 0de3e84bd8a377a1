/**
 * Replaces the entry of prom-client in the bundle. The package's own also loads the default metrics and, for their
 * exemplars, the API of OpenTelemetry: 60 modules in every start.
 */
exports.AggregatorRegistry = require('../../node_modules/prom-client/lib/cluster.js');
exports.Counter = require('../../node_modules/prom-client/lib/counter.js');
exports.Gauge = require('../../node_modules/prom-client/lib/gauge.js');
exports.Histogram = require('../../node_modules/prom-client/lib/histogram.js');
exports.Registry = require('../../node_modules/prom-client/lib/registry.js');
