-- Each document's story in five lines that need no knowledge of the field. Pure.

local format = require("bench.suite.report.format")
local judge = require("bench.suite.analysis.judge")

local story = {}

local function comparisons(document)
    local list = {}
    for _, part in ipairs(document.parts) do
        if part.kind == "comparison" then
            list[#list + 1] = part
        end
    end
    return list
end

-- All judged claims of the document.
local function claims(document)
    local list = {}
    for _, part in ipairs(comparisons(document)) do
        for _, claim in ipairs(part.claims or {}) do
            list[#list + 1] = { claim = claim, part = part }
        end
    end
    return list
end

local function name_of(part, label)
    for _, arm in ipairs(part.arms) do
        if arm.label == label then
            return arm.title or arm.label
        end
    end
    return label
end

-- Plain names with their rates, as published, of the comparison's published arms.
local function then_text(part)
    local list = {}
    for _, arm in ipairs(part.arms) do
        if arm.published then
            list[#list + 1] = { rate = arm.published.rate_per_s, label = arm.label, errors = judge.published_errors(arm.published) }
        end
    end
    table.sort(list, function(a, b)
        return a.rate > b.rate
    end)
    for i, entry in ipairs(list) do
        list[i] = ("%s %s%s"):format(entry.label, format.rate(entry.rate), entry.errors and " (mostly errors)" or "")
    end
    return table.concat(list, ", ")
end

local function now_text(claim)
    local pair = claim.pair
    if not pair or not pair.ratio then
        return "not measured here"
    elseif not pair.winner then
        return "no difference shown here"
    elseif pair.winner == "b" then
        return ("%s here (95 %% interval %s)"):format(format.ratio(pair.ratio), format.interval(pair.low, pair.high))
    end
    return ("the other way round here: %s leads, %s (95 %% interval %s)"):format(claim.slower, format.ratio(1 / pair.ratio),
        format.interval(1 / pair.high, 1 / pair.low))
end

-- The claim that stands for the document: the first whose two sides were measured.
local function leading(list)
    for _, entry in ipairs(list) do
        if entry.claim.pair then
            return entry
        end
    end
    return list[1]
end

local function tally(list)
    local counts, order = {}, { "reproduced", "reversed", "equal", "artefact", "open" }
    local words = { reproduced = "reproduced", reversed = "reversed", equal = "without a difference shown",
        artefact = "an artefact of the measurement", open = "not measured" }
    for _, entry in ipairs(list) do
        counts[entry.claim.judgement] = (counts[entry.claim.judgement] or 0) + 1
    end
    local parts = {}
    for _, key in ipairs(order) do
        if counts[key] then
            parts[#parts + 1] = ("%d %s"):format(counts[key], words[key])
        end
    end
    return ("Of %d published %s: %s."):format(#list, #list == 1 and "claim" or "claims", table.concat(parts, ", "))
end

-- The most telling sentence on causes: an artefact in the listing, then an experiment's finding.
local function why(document, list)
    for _, entry in ipairs(list) do
        if entry.claim.judgement == "artefact" and entry.claim.evidence then
            return ("The published figures counted errors as answers (%s)."):format(entry.claim.evidence)
        end
    end
    for _, part in ipairs(document.parts) do
        if part.kind == "experiment" and part.conclusions and part.conclusions[1] then
            return part.title .. ": " .. part.conclusions[1]
        end
    end
    local effect = (document.effects or {})[1]
    return effect and effect.text or document.today or ""
end

local function published_text(claim)
    return claim.published_ratio and ("published %s, "):format(format.ratio(claim.published_ratio)) or ""
end

--- Five lines, in this order: the question, then, now, what holds and why, what to do.
-- A list of {head, text}.
function story.lines(document)
    local list = claims(document)
    local lead = leading(list)
    local first = lead and lead.part or comparisons(document)[1]
    local lines = { { head = "Question", text = document.question or document.title } }
    lines[2] = { head = document.year and "In " .. document.year or list[1] and not list[1].claim.published_ratio and "Expected" or "Published",
        text = first and then_text(first) ~= "" and ("%s: %s. %s"):format(first.title, then_text(first), document.reading or "")
            or document.reading or "Nothing was published." }
    lines[3] = { head = "Here", text = lead and ("%s against %s: %s%s."):format(name_of(lead.part, lead.claim.faster),
        name_of(lead.part, lead.claim.slower), published_text(lead.claim), now_text(lead.claim))
        or first and first.fastest and ("Fastest: %s."):format(first.fastest) or "Nothing was measured." }
    lines[4] = { head = "Holds", text = (#list > 0 and tally(list) .. " " or "") .. why(document, list) }
    lines[5] = { head = "So", text = document.advice or "" }
    return lines
end

--- Effects across comparisons (document.across): the same stack in two comparisons of the document,
-- e.g. what keep-alive buys. Fills document.effects: {stack, says, ratio, text}.
function story.effects(document)
    local by_name = {}
    for _, part in ipairs(comparisons(document)) do
        by_name[part.name] = part
    end
    document.effects = {}
    for _, wanted in ipairs(document.across or {}) do
        local rates, published = {}, {}
        for _, side in ipairs({ "from", "to" }) do
            for _, arm in ipairs((by_name[wanted[side]] or { arms = {} }).arms) do
                if arm.label == wanted.stack and arm.variant == "documented" and arm.summary then
                    rates[side] = arm.summary.ok_per_s.median
                    published[side] = arm.published and arm.published.rate_per_s
                end
            end
        end
        if rates.from and rates.to and rates.from > 0 then
            local then_ratio = published.from and published.to and published.to / published.from
            document.effects[#document.effects + 1] = {
                stack = wanted.stack, says = wanted.says, ratio = rates.to / rates.from, published_ratio = then_ratio,
                text = ("%s: %s here, published %s."):format(wanted.says, format.ratio(rates.to / rates.from), format.ratio(then_ratio)),
            }
        end
    end
end

return story
