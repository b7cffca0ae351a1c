-- SPDX-License-Identifier: MIT
--
-- Statistics of the suite: pure functions on lists of numbers, no I/O.
--
-- Rules they serve: rounds are interleaved, so two sides are compared by the ratios of the pairs
-- of one round; a winner needs an interval that excludes 1 and a gain above the noise floor;
-- outliers are reported and never removed; percentiles of too few samples are not printed.

local statistics = {}

local exp, log, sqrt, abs, floor, ceil = math.exp, math.log, math.sqrt, math.abs, math.floor, math.ceil

local CONFIDENCE = 0.95
local Z95 = 1.959963984540054 -- standard normal quantile of 0.975

-- An ascending copy of <list>.
local function sorted(list)
    local copy = {}
    for i = 1, #list do
        copy[i] = list[i]
    end
    table.sort(copy)
    return copy
end

--- Arithmetic mean; nil for an empty list. Two passes: the second removes the rounding error of
-- the first (Chan, Golub, LeVeque 1983, "corrected two-pass").
function statistics.mean(list)
    local n, sum, rest = #list, 0, 0
    if n == 0 then
        return nil
    end
    for i = 1, n do
        sum = sum + list[i]
    end
    local mean = sum / n
    for i = 1, n do
        rest = rest + (list[i] - mean)
    end
    return mean + rest / n
end

--- Median; the mean of the two middle values for an even count, nil for an empty list.
function statistics.median(list)
    local n = #list
    if n == 0 then
        return nil
    end
    local s = sorted(list)
    local half = floor(n / 2)
    return n % 2 == 1 and s[half + 1] or (s[half] + s[half + 1]) / 2
end

--- Sample standard deviation (divisor n - 1); 0 for one value, nil for none.
function statistics.stdev(list)
    local n = #list
    if n < 2 then
        return n == 1 and 0 or nil
    end
    local mean, squares, rest = statistics.mean(list), 0, 0
    for i = 1, n do
        local d = list[i] - mean
        squares, rest = squares + d * d, rest + d
    end
    return sqrt((squares - rest * rest / n) / (n - 1))
end

-- Natural logarithm of the gamma function for x > 0 (Lanczos' approximation, g = 7, 9 terms).
local LANCZOS = {
    676.5203681218851, -1259.1392167224028, 771.32342877765313, -176.61502916214059,
    12.507343278686905, -0.13857109526572012, 9.9843695780195716e-6, 1.5056327351493116e-7,
}
local function log_gamma(x)
    local series = 0.99999999999980993
    for i = 1, #LANCZOS do
        series = series + LANCZOS[i] / (x - 1 + i)
    end
    local t = x + 6.5
    return 0.5 * log(2 * math.pi) + (x - 0.5) * log(t) - t + log(series)
end

-- Regularised incomplete beta function I_x(a, b): continued fraction of DLMF 8.17.22, evaluated
-- by Lentz's method. Converges fast for x < (a + 1) / (a + b + 2); callers see to that.
local function beta_fraction(x, a, b)
    local tiny = 1e-300
    local c, d = 1, 1 - (a + b) * x / (a + 1)
    d = 1 / (abs(d) < tiny and tiny or d)
    local h = d
    for m = 1, 500 do
        local even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        local odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        local step = 1
        for _, term in ipairs({ even, odd }) do
            d, c = 1 + term * d, 1 + term / c
            d = 1 / (abs(d) < tiny and tiny or d)
            c = abs(c) < tiny and tiny or c
            step = d * c
            h = h * step
        end
        if abs(step - 1) < 1e-15 then
            break
        end
    end
    return h
end

local function incomplete_beta(x, a, b)
    if x <= 0 or x >= 1 then
        return x <= 0 and 0 or 1
    end
    local front = exp(log_gamma(a + b) - log_gamma(a) - log_gamma(b) + a * log(x) + b * log(1 - x))
    if x < (a + 1) / (a + b + 2) then
        return front * beta_fraction(x, a, b) / a
    end
    return 1 - front * beta_fraction(1 - x, b, a) / b
end

-- P(|T| > t) of Student's distribution with <df> degrees of freedom (DLMF 8.17, Abramowitz and
-- Stegun 26.7.1).
local function t_two_sided(t, df)
    return incomplete_beta(df / (df + t * t), df / 2, 0.5)
end

--- Two-sided quantile of Student's t: P(|T| <= result) = <confidence> (default 0.95) with <df>
-- degrees of freedom, df >= 1. Good to 1e-9 relative; tested against printed tables.
function statistics.t_quantile(df, confidence)
    local tail = 1 - (confidence or CONFIDENCE)
    local low, high = 0, 2
    while t_two_sided(high, df) > tail do
        high = high * 2
    end
    for _ = 1, 200 do
        local middle = (low + high) / 2
        if t_two_sided(middle, df) > tail then
            low = middle
        else
            high = middle
        end
        if high - low <= 1e-12 * high then
            break
        end
    end
    return (low + high) / 2
end

--- Mean of <list> with its 95 % interval, mean +- t * s / sqrt(n): {n, mean, stdev, low, high,
-- half}. With one value the interval is unknown: low, high, half are nil. nil for an empty list.
function statistics.interval(list, confidence)
    local n = #list
    if n == 0 then
        return nil
    end
    local result = { n = n, mean = statistics.mean(list), stdev = statistics.stdev(list) }
    if n > 1 then
        result.half = statistics.t_quantile(n - 1, confidence) * result.stdev / sqrt(n)
        result.low, result.high = result.mean - result.half, result.mean + result.half
    end
    return result
end

--- Ratio of b to a from pairs measured in the same round: a[i] with b[i], all above 0.
-- {n, ratio, low, high, median, smoke}: ratio = exp(mean of ln(b/a)), the interval is
-- exp(mean +- t * s / sqrt(n)); median is the median of the pair ratios; smoke is true for fewer
-- than five pairs, which are enough to see that something runs and no more.
-- Pairs with a value of 0 or less (nothing succeeded) are left out and counted in `dropped`.
-- nil when no pair is left; low and high are nil when only one is.
function statistics.ratio(a, b, confidence)
    local logs, ratios, dropped = {}, {}, 0
    for i = 1, math.min(#a, #b) do
        if a[i] > 0 and b[i] > 0 then
            logs[#logs + 1] = log(b[i] / a[i])
            ratios[#ratios + 1] = b[i] / a[i]
        else
            dropped = dropped + 1
        end
    end
    local d = statistics.interval(logs, confidence)
    if not d then
        return nil
    end
    return {
        n = d.n,
        ratio = exp(d.mean),
        low = d.low and exp(d.low),
        high = d.high and exp(d.high),
        median = statistics.median(ratios),
        smoke = d.n < 5,
        dropped = dropped,
    }
end

--- Ratio of b to a when the values are not paired (measured in different rounds): geometric means
-- and Welch's interval of the difference of the logarithms (Welch 1947). Same fields as ratio();
-- weaker than pairs, since drift between the rounds counts as noise.
function statistics.ratio_unpaired(a, b, confidence)
    local sides = {}
    for i, list in ipairs({ a, b }) do
        local logs = {}
        for _, value in ipairs(list) do
            if value > 0 then
                logs[#logs + 1] = log(value)
            end
        end
        local n = #logs
        if n == 0 then
            return nil
        end
        sides[i] = { n = n, mean = statistics.mean(logs), error = n > 1 and statistics.stdev(logs) ^ 2 / n }
    end
    local x, y = sides[1], sides[2]
    local d = y.mean - x.mean
    local result = { n = math.min(x.n, y.n), ratio = exp(d), smoke = math.min(x.n, y.n) < 5, unpaired = true }
    local sum = x.error and y.error and x.error + y.error
    if sum then
        local df = sum > 0 and sum ^ 2 / (x.error ^ 2 / (x.n - 1) + y.error ^ 2 / (y.n - 1)) or x.n + y.n - 2
        local half = statistics.t_quantile(df, confidence) * sqrt(sum)
        result.low, result.high = exp(d - half), exp(d + half)
    end
    return result
end

--- Noise floor from an A/A run (the same configuration as both sides, paired like the real
-- comparison): the largest relative difference that was seen between equals, as a fraction
-- (0.03 = 3 %). A pair counts the same whichever side was faster. 0 for no pairs.
function statistics.noise_floor(a, b)
    local worst = 0
    for i = 1, math.min(#a, #b) do
        if a[i] > 0 and b[i] > 0 then
            worst = math.max(worst, exp(abs(log(b[i] / a[i]))) - 1)
        end
    end
    return worst
end

--- Noise floor from the same A/A pairs that one bad pair cannot spoil: 1.4826 times the median of the
-- pairs' |ln(b/a)| about 0, which estimates the deviation of a pair of equals (median absolute deviation:
-- Hampel, J. Am. Stat. Assoc. 69, 1974), as a fraction. nil for no pairs.
function statistics.noise_robust(a, b)
    local distances = {}
    for i = 1, math.min(#a, #b) do
        if a[i] > 0 and b[i] > 0 then
            distances[#distances + 1] = abs(log(b[i] / a[i]))
        end
    end
    return #distances > 0 and exp(1.4826 * statistics.median(distances)) - 1 or nil
end

--- Noise of a mean over the rounds, from the same A/A pairs: what the geometric mean of as many rounds
-- may differ by between equals (the far end of its 95 % interval), as a fraction, but no more than
-- noise_floor(), which it falls below from four or five pairs on. More rounds make it smaller, where
-- the largest difference can only grow.
function statistics.noise_of_mean(a, b)
    local worst, ratio = statistics.noise_floor(a, b), statistics.ratio(a, b)
    if not ratio or not ratio.low then
        return worst
    end
    return math.min(worst, math.max(ratio.high, 1 / ratio.low) - 1)
end

--- Verdict on a ratio (from statistics.ratio) given the noise floor (a fraction).
-- {winner = "a" | "b" | nil, text, gain, reason, few (fewer than five pairs: no verdict)}. A winner needs both: an interval that excludes 1
-- and a gain above the floor. gain is the relative lead of the faster side, whichever it is.
-- <names> = {a = "...", b = "..."} are used in the text; higher values are taken as better.
function statistics.verdict(ratio, noise_floor, names)
    names = names or { a = "A", b = "B" }
    local nothing = "no difference shown"
    if not ratio or not ratio.low or ratio.smoke then
        local few = ("no verdict: %d %s, five are the fewest for one"):format(ratio and ratio.n or 0,
            ratio and ratio.n == 1 and "pair" or "pairs")
        return { text = few, reason = few, gain = 0, few = true }
    end
    local gain = exp(abs(log(ratio.ratio))) - 1
    local result = { gain = gain }
    local span = string.format("ratio %.3f, 95 %% interval %.3f to %.3f, %d pairs", ratio.ratio, ratio.low,
        ratio.high, ratio.n)
    if ratio.low <= 1 and ratio.high >= 1 then
        result.reason = "the interval includes 1"
    elseif gain <= noise_floor then
        result.reason = string.format("the gain of %.1f %% is within the noise of %.1f %%", gain * 100,
            noise_floor * 100)
    end
    if result.reason then
        result.text = string.format("%s: %s (%s)", nothing, result.reason, span)
        return result
    end
    result.winner = ratio.ratio > 1 and "b" or "a"
    local first, second = names[result.winner], names[result.winner == "b" and "a" or "b"]
    result.text = string.format("%s is %.2f times %s (%s)", first, gain + 1, second, span)
    return result
end

--- Samples needed before the p-quantile (0 < p < 1) may be printed: 10 / (1 - p), so that ten
-- samples lie beyond it (p99: 1,000; p99.9: 10,000).
function statistics.samples_needed(p)
    return ceil(10 / (1 - p) - 1e-6)
end

--- Ranks (from 1) of the order statistics that bound the p-quantile of n samples with 95 %
-- confidence: np +- 1.96 sqrt(np(1 - p)), both rounded up (Bland, An Introduction to Medical
-- Statistics, 15.5). Returns low, high, clipped to 1..n.
function statistics.percentile_ranks(n, p)
    local centre, half = n * p, Z95 * sqrt(n * p * (1 - p))
    local low, high = ceil(centre - half), ceil(centre + half)
    return math.max(1, math.min(n, low)), math.max(1, math.min(n, high))
end

--- The p-quantile of <list> with its order-statistic interval: {value, low, high, n, enough}.
-- value is the sample of rank ceil(np) (nearest rank); enough tells whether n reaches
-- samples_needed(p): when it does not, print "n/a (too few)". nil for an empty list.
function statistics.percentile(list, p)
    local n = #list
    if n == 0 then
        return nil
    end
    local s = sorted(list)
    local low, high = statistics.percentile_ranks(n, p)
    return {
        value = s[math.max(1, math.min(n, ceil(n * p - 1e-9)))],
        low = s[low],
        high = s[high],
        n = n,
        enough = n >= statistics.samples_needed(p),
    }
end

--- First index from which <rates> (one value per window, in time order) is steady: <count>
-- consecutive windows (default 3) that all lie within <tolerance> (default 0.05) of their mean.
-- nil while it is not. The idea of fio's "steadystate" with the deviation from the mean.
function statistics.steady_from(rates, count, tolerance)
    count, tolerance = count or 3, tolerance or 0.05
    for first = 1, #rates - count + 1 do
        local sum, steady = 0, true
        for i = first, first + count - 1 do
            sum = sum + rates[i]
        end
        local mean = sum / count
        for i = first, first + count - 1 do
            steady = steady and mean > 0 and abs(rates[i] - mean) <= tolerance * mean
        end
        if steady then
            return first
        end
    end
    return nil
end

--- Median absolute deviation from the median, unscaled (times 1.4826 it estimates the standard
-- deviation of normal data). nil for an empty list.
function statistics.mad(list)
    local centre = statistics.median(list)
    if not centre then
        return nil
    end
    local deviations = {}
    for i = 1, #list do
        deviations[i] = abs(list[i] - centre)
    end
    return statistics.median(deviations)
end

--- Indexes of the outliers of <list>: |0.6745 (x - median) / MAD| > <limit>, the modified Z-score
-- of Iglewicz and Hoaglin (1993) with their limit of 3.5 by default. Report them; do not delete.
-- When more than half the values are equal (MAD 0) nothing is flagged.
function statistics.outliers(list, limit)
    limit = limit or 3.5
    local found, centre, mad = {}, statistics.median(list), statistics.mad(list)
    if not mad or mad == 0 then
        return found
    end
    for i = 1, #list do
        if abs(0.6745 * (list[i] - centre) / mad) > limit then
            found[#found + 1] = i
        end
    end
    return found
end

--- Little's law for a closed loop without think time: relative deviation of rate * response time
-- from the number of clients, |X R / c - 1|. Above 0.05 something was not counted.
-- rate_per_s in 1/s, response_s the mean response time in seconds, connections the clients.
function statistics.little_deviation(rate_per_s, response_s, connections)
    return abs(rate_per_s * response_s / connections - 1)
end

return statistics
