-- SPDX-License-Identifier: MIT
--
-- Scaling laws for a pool of N children that serve one request each. Pure.
--
-- Universal Scalability Law (Gunther 1993; three parameters as in "USL Scalability Modeling with
-- Three Parameters", 2018):
--     X(N) = lambda N / (1 + sigma (N - 1) + kappa N (N - 1))
-- lambda: requests/s of one child; sigma: contention (what is serial); kappa: coherency (what each
-- child costs each other). Peak at N* = sqrt((1 - sigma) / kappa).
--
-- Two-resource bound: X(N) = min(N / (s + w), C / s, c / (s + w)) for s seconds of CPU and w seconds
-- of waiting per request, C cores and c clients without think time. Below the knee every child is
-- busy; above it the CPU (or the number of clients) is the limit. What a web server and a client on
-- the same cores spend is added to the s of C / s.

local usl = {}

local sqrt, huge = math.sqrt, math.huge

-- Solves the symmetric system M p = v (normal equations) by Gaussian elimination with pivoting;
-- nil when it is singular to working precision.
local function solve(matrix, vector)
    local n = #vector
    for column = 1, n do
        local pivot = column
        for row = column + 1, n do
            if math.abs(matrix[row][column]) > math.abs(matrix[pivot][column]) then
                pivot = row
            end
        end
        matrix[column], matrix[pivot] = matrix[pivot], matrix[column]
        vector[column], vector[pivot] = vector[pivot], vector[column]
        if math.abs(matrix[column][column]) < 1e-300 then
            return nil
        end
        for row = column + 1, n do
            local factor = matrix[row][column] / matrix[column][column]
            for k = column, n do
                matrix[row][k] = matrix[row][k] - factor * matrix[column][k]
            end
            vector[row] = vector[row] - factor * vector[column]
        end
    end
    for row = n, 1, -1 do
        for k = row + 1, n do
            vector[row] = vector[row] - matrix[row][k] * vector[k]
        end
        vector[row] = vector[row] / matrix[row][row]
    end
    return vector
end

-- Linear least squares: the p that minimises sum (w_i (y_i - sum_j p_j f_ij))^2. Columns are scaled
-- to length 1 first: N(N - 1) is a million times N for large pools.
local function least_squares(rows, targets, weights)
    local columns, scale = #rows[1], {}
    for j = 1, columns do
        local sum = 0
        for i = 1, #rows do
            sum = sum + (weights[i] * rows[i][j]) ^ 2
        end
        scale[j] = sum > 0 and sqrt(sum) or 1
    end
    local matrix, vector = {}, {}
    for j = 1, columns do
        matrix[j], vector[j] = {}, 0
        for k = 1, columns do
            matrix[j][k] = 0
        end
        for i = 1, #rows do
            local f = weights[i] ^ 2 * rows[i][j] / scale[j]
            vector[j] = vector[j] + f * targets[i]
            for k = 1, columns do
                matrix[j][k] = matrix[j][k] + f * rows[i][k] / scale[k]
            end
        end
    end
    local p = solve(matrix, vector)
    for j = 1, p and columns or 0 do
        p[j] = p[j] / scale[j]
    end
    return p
end

-- The terms that 1/lambda, sigma/lambda, kappa/lambda are multiplied with in N / X.
local TERMS = {
    function()
        return 1
    end,
    function(n)
        return n - 1
    end,
    function(n)
        return n * (n - 1)
    end,
}

local function denominator(p, n)
    local sum = 0
    for j, term in ipairs(TERMS) do
        sum = sum + (p[j] or 0) * term(n)
    end
    return sum
end

local function square_error(points, p)
    local sum = 0
    for _, point in ipairs(points) do
        sum = sum + (point.x - point.n / denominator(p, point.n)) ^ 2
    end
    return sum
end

-- Least squares with the chosen terms only: a linear start on N / X, weighted so that it stands
-- for errors of X, then Gauss-Newton on X itself.
local function fit_terms(points, chosen)
    local rows, targets, weights = {}, {}, {}
    for i, point in ipairs(points) do
        rows[i] = {}
        for k, j in ipairs(chosen) do
            rows[i][k] = TERMS[j](point.n)
        end
        targets[i], weights[i] = point.n / point.x, point.x ^ 2 / point.n
    end
    local function spread(values)
        local p = { 0, 0, 0 }
        for k, j in ipairs(chosen) do
            p[j] = values[k]
        end
        return p
    end
    local values = least_squares(rows, targets, weights)
    if not values or values[1] <= 0 then
        return nil
    end
    local p = spread(values)
    local best = square_error(points, p)
    for _ = 1, 50 do
        for i, point in ipairs(points) do
            local d = denominator(p, point.n)
            targets[i], weights[i] = -(point.x - point.n / d), point.n / d ^ 2
            targets[i] = targets[i] / weights[i]
        end
        local step = least_squares(rows, targets, weights)
        local tried = step and spread(values)
        for k, j in ipairs(step and chosen or {}) do
            tried[j] = values[k] + step[k]
        end
        local err = tried and tried[1] > 0 and square_error(points, tried)
        if not err or err ~= err or err >= best * (1 - 1e-14) then
            break
        end
        p, best = tried, err
        for k, j in ipairs(chosen) do
            values[k] = p[j]
        end
    end
    return p
end

-- R^2 and the residual standard error of a model's rates; <free> is its number of parameters.
local function quality(points, rate, free)
    local mean, errors, total, residuals = 0, 0, 0, {}
    for _, point in ipairs(points) do
        mean = mean + point.x / #points
    end
    for i, point in ipairs(points) do
        residuals[i] = point.x - rate(point.n)
        errors, total = errors + residuals[i] ^ 2, total + (point.x - mean) ^ 2
    end
    return {
        r2 = total > 0 and 1 - errors / total or nil,
        standard_error = #points > free and sqrt(errors / (#points - free)) or nil,
        residuals = residuals,
    }
end

local function distinct(points)
    local seen, count, largest = {}, 0, 0
    for _, point in ipairs(points) do
        count = count + (seen[point.n] and 0 or 1)
        seen[point.n], largest = true, math.max(largest, point.n)
    end
    return count, largest
end

--- Fits the law to <points>, a list of {n, x} (children, requests/s; x above 0), at least
-- <needed> distinct n (default 6; a fit to fewer is a drawing). sigma and kappa are not allowed
-- below 0: the term is left out and the rest fitted again.
-- {lambda, sigma, kappa, peak_n, peak_x (nil without a peak), r2, standard_error, residuals,
-- largest_n}; or nil and a reason.
function usl.fit(points, needed)
    local count, largest = distinct(points)
    if count < (needed or 6) then
        return nil, ("a fit needs %d different counts, there are %d"):format(needed or 6, count)
    end
    local best
    for _, chosen in ipairs({ { 1, 2, 3 }, { 1, 2 }, { 1, 3 }, { 1 } }) do
        local p = fit_terms(points, chosen)
        if p and p[2] >= 0 and p[3] >= 0 and (not best or square_error(points, p) < square_error(points, best)) then
            best = p
        end
    end
    if not best then
        return nil, "no curve of this law fits"
    end
    local model = { lambda = 1 / best[1], sigma = best[2] / best[1], kappa = best[3] / best[1], largest_n = largest }
    for key, value in pairs(quality(points, function(n)
        return n / denominator(best, n)
    end, 3)) do
        model[key] = value
    end
    if model.kappa > 0 and model.sigma < 1 then
        model.peak_n = sqrt((1 - model.sigma) / model.kappa)
        model.peak_x = usl.curve(model, model.peak_n)
    end
    return model
end

--- Rate of the law at n children, without a check of the range.
function usl.curve(model, n)
    return model.lambda * n / (1 + model.sigma * (n - 1) + model.kappa * n * (n - 1))
end

--- Rate of the law at n children; nil above twice the largest count that was measured, where it
-- would be a guess.
function usl.rate(model, n)
    return n <= 2 * model.largest_n and usl.curve(model, n) or nil
end

--- The two-resource bound from what one request needs: {per_s, binding, knee}.
-- <need>: cpu_s and wait_s per request in the child (above 0 together), cores, shared_cpu_s (CPU
-- that other processes on the same cores spend per request: web server, client; default 0),
-- clients (nil: open loop, no limit). binding is "children", "cpu" or "clients", what limits at
-- <children>; knee is the count at which the children stop being the limit.
function usl.bound(need, children)
    local shared_s = need.shared_cpu_s or 0
    local held_s, all_cpu_s = need.cpu_s + need.wait_s, need.cpu_s + shared_s
    local cpu = all_cpu_s > 0 and need.cores / all_cpu_s or huge
    local clients = need.clients and need.clients / (held_s + shared_s) or huge
    local other, name = cpu, "cpu"
    if clients < cpu then
        other, name = clients, "clients"
    end
    local busy = children / held_s
    return { per_s = math.min(busy, other), binding = busy < other and "children" or name, knee = other * held_s }
end

-- Slope of the children-bound part: least squares through the origin over <count> points.
local function slope(points, count)
    local nx, nn = 0, 0
    for i = 1, count do
        nx, nn = nx + points[i].n * points[i].x, nn + points[i].n ^ 2
    end
    return nx / nn
end

--- Fits min(N / r, q) to <points>: r seconds per request and child, q requests/s of the resource
-- behind. {seconds_per_request, plateau_per_s (huge when no plateau was reached), knee (= q r), r2,
-- standard_error, residuals}; nil and a reason for fewer than three counts.
function usl.fit_bound(points)
    if distinct(points) < 3 then
        return nil, "a fit needs 3 different counts"
    end
    local sorted = {}
    for i, point in ipairs(points) do
        sorted[i] = point
    end
    table.sort(sorted, function(a, b)
        return a.n < b.n
    end)
    local best
    for split = 1, #sorted do
        local p, sum = slope(sorted, split), 0
        for i = split + 1, #sorted do
            sum = sum + sorted[i].x
        end
        local q = split < #sorted and sum / (#sorted - split) or huge
        local function rate(n)
            return math.min(n * p, q)
        end
        local found = quality(points, rate, 2)
        local err = 0
        for _, residual in ipairs(found.residuals) do
            err = err + residual ^ 2
        end
        -- Of equal fits the later one: it claims a plateau only where one is needed.
        if not best or err <= best.error * (1 + 1e-9) + 1e-12 then
            found.error, found.seconds_per_request = err, 1 / p
            found.plateau_per_s, found.knee = q, q / p
            best = found
        end
    end
    best.error = nil
    return best
end

--- Rate of a fitted bound at n children.
function usl.bound_curve(model, n)
    return math.min(n / model.seconds_per_request, model.plateau_per_s)
end

--- "usl" or "bound": the one with the smaller residual standard error (which pays for the number
-- of parameters); nil when neither is there. Equal within 1 %: the bound, it is the simpler one.
function usl.better(law, bound)
    local a, b = law and law.standard_error, bound and bound.standard_error
    if not a or not b then
        return a and "usl" or b and "bound" or nil
    end
    return a < 0.99 * b and "usl" or "bound"
end

return usl
