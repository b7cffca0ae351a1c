-- What a run says in words: its question, how far it can be trusted, and for each document the lines
-- that a reader of a paper expects. Pure.

local format = require("bench.suite.report.format")
local judge = require("bench.suite.analysis.judge")
local statistics = require("bench.suite.analysis.statistics")
local summary = require("bench.suite.analysis.summary")
local sequential = require("bench.suite.analysis.sequential")

local story = {}

--- The comparisons of <documents> (a list), in order.
local function comparisons(documents)
    local list = {}
    for _, document in ipairs(documents) do
        for _, part in ipairs(document.parts) do
            if part.kind == "comparison" then
                list[#list + 1] = part
            end
        end
    end
    return list
end

--- All judged claims of <documents>: list of {claim, part, document, context (title of the comparison)}.
function story.claims(documents)
    local list = {}
    for _, document in ipairs(documents) do
        for _, part in ipairs(comparisons({ document })) do
            for _, claim in ipairs(part.claims or {}) do
                list[#list + 1] = { claim = claim, part = part, document = document, context = part.title }
            end
        end
    end
    return list
end

-- Did anybody publish figures for <documents>?
local function published(documents)
    for _, part in ipairs(comparisons(documents)) do
        for _, arm in ipairs(part.arms) do
            if arm.published then
                return true
            end
        end
    end
    return false
end

--- True for a run of the user's own documents: nothing of it was published.
function story.own(record)
    return #record.documents > 0 and not published(record.documents)
end

--- The title of the report.
function story.title(record)
    if not story.own(record) then
        return "Published web benchmarks, measured again"
    end
    local titles = {}
    for i, document in ipairs(record.documents) do
        titles[i] = document.title
    end
    return table.concat(titles, "; ")
end

--- The question that the report answers.
function story.question(record)
    local documents = record.documents
    if #documents == 1 and documents[1].question then
        return documents[1].question
    elseif story.own(record) then
        return "Which of these is faster on this machine, and by how much?"
    end
    return "Which of the published comparisons still hold, measured today and with correct answers only?"
end

--- "Smoke test ..." when no comparison had rounds enough for a verdict, else nil.
function story.smoke(record)
    local most, any = 0, false
    for _, part in ipairs(comparisons(record.documents)) do
        any, most = true, math.max(most, part.rounds or 0)
    end
    if any and most < sequential.fewest and record.profile ~= "documented" then
        return ("Smoke test: %d %s, too few for a verdict (it takes %d)."):format(most, most == 1 and "round" or "rounds",
            sequential.fewest)
    end
end

-- Shares of the slots: {slots, disturbed (by other programs), doubted (by the client)}.
local function slots_of(record)
    local count = { slots = 0, disturbed = 0, doubted = 0 }
    for _, part in ipairs(comparisons(record.documents)) do
        for _, arm in ipairs(part.arms) do
            for _, slot in ipairs(arm.slots or {}) do
                count.slots = count.slots + 1
                count.disturbed = count.disturbed + ((slot.foreign_cpus or 0) > summary.foreign_limit and 1 or 0)
                count.doubted = count.doubted + (((slot.client or {}).verdict or "valid") ~= "valid" and 1 or 0)
            end
        end
    end
    return count
end

local DECIDED = { reproduced = true, reversed = true, same = true, artefact = true }

-- Part of a processor from which a program is named.
local WORTH_NAMING = 0.02

--- The programs that used the processors beside the measurement, the busiest first: list of {name, share
-- (processors, mean over all comparisons)}, at most <count>.
function story.others(record, count)
    local by_name, list, seen = {}, {}, 0
    for _, part in ipairs(comparisons(record.documents)) do
        seen = seen + (part.others and 1 or 0)
        for _, program in ipairs(part.others or {}) do
            by_name[program.name] = (by_name[program.name] or 0) + program.cpus
        end
    end
    for name, cpus in pairs(by_name) do
        list[#list + 1] = cpus / seen >= WORTH_NAMING and { name = name, share = cpus / seen } or nil
    end
    table.sort(list, function(a, b)
        return a.share > b.share or a.share == b.share and a.name < b.name
    end)
    for i = #list, count + 1, -1 do
        list[i] = nil
    end
    return list
end

--- One sentence on how far the figures can be trusted.
function story.trust(record)
    local noise = {}
    for _, part in ipairs(comparisons(record.documents)) do
        noise[#noise + 1] = (part.noise or {}).measured
    end
    local list, count = {}, slots_of(record)
    if count.slots == 0 then
        return "Nothing was measured."
    end
    if #noise > 0 then
        list[1] = ("on this machine the same stack measured twice in a round differs by about %.2g %%"):format(
            statistics.median(noise) * 100)
    end
    if count.disturbed > 0 then
        local names = {}
        for i, program in ipairs(story.others(record, 3)) do
            names[i] = ("%s %.0f %%"):format(program.name, program.share * 100)
        end
        list[#list + 1] = ("other programs used the processors in %.0f %% of the slots%s"):format(count.disturbed / count.slots * 100,
            #names > 0 and " (" .. table.concat(names, ", ") .. " of a processor)" or "")
    end
    if count.doubted > 0 then
        list[#list + 1] = ("the load client doubts %.0f %% of them"):format(count.doubted / count.slots * 100)
    end
    local claims, decided = story.claims(record.documents), 0
    for _, entry in ipairs(claims) do
        decided = decided + (DECIDED[entry.claim.judgement] and 1 or 0)
    end
    if #claims > 0 then
        list[#list + 1] = ("%d of %d claims are decided"):format(decided, #claims)
    end
    local text = table.concat(list, "; ")
    return text == "" and "Compare ratios, not rates with those of other machines."
        or "Trust: " .. text .. ". Compare ratios, not rates with those of other machines."
end

local function name_of(part, key)
    for _, arm in ipairs(part.arms) do
        if arm.key == key then
            return arm.title and arm.title ~= arm.label and ("%s (%s)"):format(arm.key, arm.title) or arm.key
        end
    end
    return key
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

-- What was measured for a claim, in words. Upside down when the other side led.
local function now_text(claim)
    local pair = claim.pair
    if not pair or not pair.ratio then
        return claim.today == "failed" and "not decided: " .. tostring(claim.evidence) or "not measured"
    elseif pair.winner == "a" then
        return ("%s leads, %s (95 %% interval %s)"):format(claim.slower, format.ratio(1 / pair.ratio),
            format.interval(pair.high and 1 / pair.high, pair.low and 1 / pair.low))
    end
    local words = ({ equal = ": equal within 10 %", open = ": no difference shown", few = ": no verdict" })[pair.decision] or ""
    return ("%s (95 %% interval %s)%s"):format(format.ratio(pair.ratio), format.interval(pair.low, pair.high), words)
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

local ORDER = { "reproduced", "reversed", "same", "equal", "artefact", "few", "failed", "open" }
local COUNTED = {
    reproduced = { "is reproduced", "are reproduced" },
    reversed = { "is reversed", "are reversed" },
    same = { "shows stacks equal within 10 %", "show stacks equal within 10 %" },
    equal = { "is open: no difference was shown", "are open: no difference was shown" },
    artefact = { "is an artefact of the measurement", "are artefacts of the measurement" },
    few = { "has too few rounds for a verdict", "have too few rounds for a verdict" },
    failed = { "is not decided, because a stack failed", "are not decided, because a stack failed" },
    open = { "was not measured", "were not measured" },
}
local COUNTED_OWN = setmetatable({ reproduced = { "is confirmed", "are confirmed" }, reversed = { "is the other way round",
    "are the other way round" } }, { __index = COUNTED })
local NUMBERS = { "One", "Two", "Three", "Four", "Five", "Six", "Seven", "Eight", "Nine" }

-- "Two of three claims are reproduced, one is reversed."
local function tally(list, own)
    local counts, texts = {}, own and COUNTED_OWN or COUNTED
    local noun = own and "claim" or "published claim"
    for _, entry in ipairs(list) do
        counts[entry.claim.judgement] = (counts[entry.claim.judgement] or 0) + 1
    end
    local parts = {}
    for _, key in ipairs(ORDER) do
        local count = counts[key]
        if count == #list then
            return count == 1 and ("The %s %s."):format(noun, texts[key][1])
                or ("%s %ss %s."):format(count == 2 and "Both" or "All " .. count, noun, texts[key][2])
        elseif count then
            local number = NUMBERS[count] or tostring(count)
            parts[#parts + 1] = #parts == 0 and ("%s of %d %ss %s"):format(number, #list, noun, texts[key][count == 1 and 1 or 2])
                or ("%s %s"):format(number:lower(), texts[key][count == 1 and 1 or 2])
        end
    end
    return table.concat(parts, ", ") .. "."
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
    for _, entry in ipairs(list) do
        if entry.claim.unlike then
            return ("Read it with care: %s."):format(entry.claim.unlike)
        end
    end
    local effect = (document.effects or {})[1]
    return effect and effect.text or ""
end

local function fastest(part)
    return part and part.fastest and ("Fastest: %s."):format(part.fastest) or nil
end

--- The lines of a document: Question, Published (Expected where nothing was), Measured here, Verdict, Advice;
-- those without anything to
-- say are left out. A list of {head, text}.
function story.lines(document)
    local list = story.claims({ document })
    local own = not published({ document })
    local lead = leading(list)
    local first = lead and lead.part or comparisons({ document })[1]
    local lines = {}
    local function add(head, text)
        if text and text ~= "" then
            lines[#lines + 1] = { head = head, text = text }
        end
    end
    add("Question", document.question or own and story.question({ documents = { document } }) or document.title)
    if not own then
        local seen = first and then_text(first) or ""
        add("Published", (seen ~= "" and ("%s: %s. "):format(first.title, seen) or "") .. (document.reading or ""))
    else
        add("Expected", document.reading)
    end
    if lead then
        local ratio = lead.claim.published_ratio
        add("Measured here", ("%s against %s: %s%s."):format(name_of(lead.part, lead.claim.faster), name_of(lead.part, lead.claim.slower),
            ratio and ("published %s, here "):format(format.ratio(ratio)) or "", now_text(lead.claim)))
    else
        add("Measured here", fastest(first) or "Nothing was measured.")
    end
    add("Verdict", ((#list > 0 and tally(list, own) .. " " or "") .. why(document, list)):gsub("%s+$", ""))
    add("Advice", document.advice)
    return lines
end

--- The line of <document> under <head>, or "".
function story.line(document, head)
    for _, line in ipairs(story.lines(document)) do
        if line.head == head then
            return line.text
        end
    end
    return ""
end

--- Effects across comparisons (document.across): the same stack in two comparisons of the document,
-- e.g. what keep-alive buys. Fills document.effects: {stack, says, ratio, text}.
function story.effects(document)
    local by_name = {}
    for _, part in ipairs(comparisons({ document })) do
        by_name[part.name] = part
    end
    document.effects = {}
    for _, wanted in ipairs(document.across or {}) do
        local rates, then_rates = {}, {}
        for _, side in ipairs({ "from", "to" }) do
            for _, arm in ipairs((by_name[wanted[side]] or { arms = {} }).arms) do
                if arm.label == wanted.stack and arm.variant == "documented" and arm.summary and not arm.trouble then
                    rates[side] = arm.summary.ok_per_s.median
                    then_rates[side] = arm.published and arm.published.rate_per_s
                end
            end
        end
        if rates.from and rates.to and rates.from > 0 then
            local then_ratio = then_rates.from and then_rates.to and then_rates.to / then_rates.from
            document.effects[#document.effects + 1] = {
                stack = wanted.stack, says = wanted.says, ratio = rates.to / rates.from, published_ratio = then_ratio,
                text = ("%s: %s here, published %s."):format(wanted.says, format.ratio(rates.to / rates.from), format.ratio(then_ratio)),
            }
        end
    end
end

return story
