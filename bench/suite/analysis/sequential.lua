-- When to stop measuring a pair, and what may be said then. Rounds are looked at a few times while they
-- come in; each look may end the measuring, so each has to be stricter than a single one would be. Pure.
--
-- The error of 5 % is shared out over the looks beforehand (alpha spending: Lan and DeMets, Biometrika 70,
-- 1983). Each look is a t-test of its own share on the logarithms of the pair's ratios, and the shares add
-- up, whatever the looks have in common (Bonferroni), so that the whole never exceeds 5 %. The interval
-- shown is that of the look (a repeated confidence interval: Jennison and Turnbull, JRSS B 51, 1989).
-- "Equal" is shown by two one-sided tests against a margin (Schuirmann, J. Pharmacokin. Biopharm. 15,
-- 1987), which have a 5 % of their own, shared out likewise.

local statistics = require("bench.suite.analysis.statistics")

local sequential = {}

--- Pairs at which a look is taken, and its share of the error.
sequential.looks = {
    { pairs = 5, alpha = 0.020 },
    { pairs = 7, alpha = 0.012 },
    { pairs = 10, alpha = 0.010 },
    { pairs = 14, alpha = 0.008 },
}

--- Fewer pairs than these show nothing.
sequential.fewest = sequential.looks[1].pairs
--- No more are bought: what they would still decide is not worth the time.
sequential.most = sequential.looks[#sequential.looks].pairs
--- Two sides whose ratio lies between 1 / (1 + margin) and 1 + margin are equal for all practical ends.
sequential.margin = 0.10

local LOOKS = sequential.looks

-- The look that <n> pairs belong to: the first with at least as many, else the last.
local function look_of(n)
    for _, look in ipairs(LOOKS) do
        if n <= look.pairs then
            return look
        end
    end
    return LOOKS[#LOOKS]
end

--- Is a look due after <n> pairs?
function sequential.due(n)
    for _, look in ipairs(LOOKS) do
        if n == look.pairs then
            return true
        end
    end
    return false
end

-- Pairs after which the interval around <mean> (of logarithms, deviation <stdev>) would be short enough
-- for one of the two decisions, were everything to go on as so far.
local function pairs_needed(mean, stdev, floor)
    local margin = math.log(1 + sequential.margin)
    local wanted = math.max(math.abs(mean) > math.log(1 + floor) and math.abs(mean) or 0, margin - math.abs(mean), 1e-3)
    local t = statistics.t_quantile(30, 1 - LOOKS[#LOOKS].alpha)
    return math.max(sequential.fewest, math.ceil((t * stdev / wanted) ^ 2))
end

--- Looks at the pairs of <a> and <b> (values of the same rounds, all above 0). <floor>: noise floor, a
-- fraction; a smaller gain is no difference. Returns {n, ratio (b / a), low, high, median, decision =
-- "a" | "b" (the larger side) | "equal" | "open" | "few", needed (pairs that an open one would take)};
-- low and high hold with 95 % over all looks together. nil when there is no pair.
function sequential.judge(a, b, floor)
    local n = math.min(#a, #b)
    local look = look_of(n)
    local ratio = statistics.ratio(a, b, 1 - look.alpha)
    if not ratio then
        return nil
    end
    local result = { n = ratio.n, ratio = ratio.ratio, low = ratio.low, high = ratio.high, median = ratio.median, decision = "few" }
    if ratio.n < sequential.fewest then
        return result
    end
    local logs, margin = {}, 1 + sequential.margin
    for i = 1, n do
        logs[i] = math.log(b[i] / a[i])
    end
    local mean, stdev = statistics.mean(logs), statistics.stdev(logs)
    local within = statistics.ratio(a, b, 1 - 2 * look.alpha)
    local gain = math.exp(math.abs(mean)) - 1
    if (ratio.low > 1 or ratio.high < 1) and gain > floor and gain > 0 then
        result.decision = ratio.ratio > 1 and "b" or "a"
    elseif within.low > 1 / margin and within.high < margin then
        result.decision = "equal"
    else
        result.decision, result.needed = "open", pairs_needed(mean, stdev, floor)
    end
    return result
end

return sequential
