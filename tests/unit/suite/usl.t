#!/usr/bin/env luajit
-- SPDX-License-Identifier: MIT
-- The scaling laws agree with a published fit, find what made synthetic data, and know their limits.
package.path = (arg[0]:match("^(.*)/") or ".") .. "/../../lib/?.lua;" .. package.path
local t = require("testing")
package.path = t.root .. "/?.lua;" .. package.path
local usl = require("bench.suite.analysis.usl")

local function near(got, want, tolerance, name)
    t.ok(got and math.abs(got - want) <= tolerance * math.abs(want),
        ("%s (got %s, want %s)"):format(name, tostring(got), tostring(want)))
end

-- SPEC SDM91 on a Sun SPARCcenter 2000, the example of R's package usl, which prints
-- alpha 0.0277285, beta 0.0001044, gamma 89.9952330 (non-linear least squares).
local sdm91 = {}
for i, n in ipairs({ 1, 18, 36, 72, 108, 144, 216 }) do
    sdm91[i] = { n = n, x = ({ 64.9, 995.9, 1652.4, 1853.2, 1828.9, 1775.0, 1702.2 })[i] }
end
local model = usl.fit(sdm91)
near(model.sigma, 0.0277285, 1e-5, "SDM91: contention")
near(model.kappa, 0.0001044, 5e-4, "SDM91: coherency")
near(model.lambda, 89.9952330, 1e-5, "SDM91: rate of one")
near(model.peak_n, math.sqrt((1 - 0.0277285) / 0.0001044), 5e-4, "SDM91: place of the peak")
t.ok(model.r2 > 0.97 and model.r2 < 1, "SDM91: R2 " .. model.r2)
t.is(#model.residuals, 7, "a residual for each point")

-- Data made by the law itself, with pools up to 1,024.
local function made(lambda, sigma, kappa)
    local points = {}
    for i, n in ipairs({ 1, 2, 4, 8, 16, 64, 256, 1024 }) do
        points[i] = { n = n, x = usl.curve({ lambda = lambda, sigma = sigma, kappa = kappa }, n) }
    end
    return points
end
local exact = usl.fit(made(2500, 0.05, 1e-5))
near(exact.lambda, 2500, 1e-6, "exact data: lambda")
near(exact.sigma, 0.05, 1e-6, "exact data: sigma")
near(exact.kappa, 1e-5, 1e-6, "exact data: kappa")
near(exact.r2, 1, 1e-9, "exact data: R2 is 1")

local linear = usl.fit(made(2.5, 0, 0))
t.ok(linear.sigma < 1e-9 and linear.kappa < 1e-12, "a straight line has neither contention nor coherency")
t.is(linear.peak_n, nil, "and no peak")
local super = usl.fit({ { n = 1, x = 10 }, { n = 2, x = 24 }, { n = 3, x = 39 }, { n = 4, x = 56 }, { n = 5, x = 75 },
    { n = 6, x = 96 } })
t.ok(super.sigma == 0 and super.kappa == 0, "better than linear is not turned into negative contention")
t.is(usl.fit({ { n = 1, x = 1 }, { n = 2, x = 2 } }), nil, "two counts are too few")
t.like(select(2, usl.fit({ { n = 1, x = 1 }, { n = 2, x = 2 } })), "needs 6 different counts", "and it says so")
t.ok(usl.rate(exact, 2048) and not usl.rate(exact, 2049), "no rate beyond twice the largest measured count")

-- The bound. 400 ms of sleep, 50 us of CPU, 2 cores.
local sleep = { cpu_s = 50e-6, wait_s = 0.4, cores = 2, clients = 1000 }
near(usl.bound(sleep, 8).per_s, 8 / 0.40005, 1e-9, "8 children asleep: 20 requests/s")
t.is(usl.bound(sleep, 8).binding, "children", "the children bind")
t.is(usl.bound(sleep, 5000).binding, "clients", "1,000 clients bind 5,000 children")
near(usl.bound(sleep, 8).knee, 1000, 1e-9, "the knee is at one child per client")
near(usl.bound({ cpu_s = 1e-3, wait_s = 3e-3, cores = 2 }, 100).per_s, 2000, 1e-9, "two cores, 1 ms of CPU: 2,000/s")
near(usl.bound({ cpu_s = 1e-3, wait_s = 3e-3, cores = 2 }, 100).knee, 8, 1e-9,
    "fill count: cores (cpu + wait) / cpu = 8")
near(usl.bound({ cpu_s = 1e-3, wait_s = 0, cores = 2, shared_cpu_s = 1e-3 }, 8).per_s, 1000, 1e-9,
    "a web server and client that need as much CPU halve the rate")
near(usl.bound({ cpu_s = 1e-3, wait_s = 0, cores = 2, shared_cpu_s = 1e-3 }, 8).knee, 1, 1e-9, "and the knee")

-- Fitting the bound, and choosing.
local function kinked(seconds, plateau)
    local points = {}
    for i, n in ipairs({ 1, 2, 4, 8, 16, 32, 64, 128 }) do
        points[i] = { n = n, x = math.min(n / seconds, plateau) }
    end
    return points
end
local fitted = usl.fit_bound(kinked(0.4, 100))
near(fitted.seconds_per_request, 0.4, 1e-9, "fitted bound: seconds per request")
near(fitted.plateau_per_s, 100, 1e-9, "fitted bound: plateau")
near(fitted.knee, 40, 1e-9, "fitted bound: knee")
near(usl.bound_curve(fitted, 20), 50, 1e-9, "rate of the fitted bound")
t.is(usl.fit_bound(kinked(0.4, 1e9)).plateau_per_s, math.huge, "no plateau was reached")
t.is(usl.better(usl.fit(kinked(0.4, 100)), fitted), "bound", "a sharp knee is called a bound")
local curved = made(2500, 0.05, 1e-5)
t.is(usl.better(usl.fit(curved), usl.fit_bound(curved)), "usl", "a round one the scalability law")
t.is(usl.better(nil, fitted), "bound", "what could be fitted is taken")
t.is(usl.better(nil, nil), nil, "nothing to choose")
t.done()
