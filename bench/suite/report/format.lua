-- Numbers as people read them. Pure; nil gives a dash everywhere.

local format = {}

local DASH = "\226\128\147" -- en dash
format.dash = DASH

--- 1234567.8 as "1,234,568"; small numbers keep enough digits to be told apart.
function format.number(value)
    if not value then
        return DASH
    end
    local size = math.abs(value)
    if size < 10 and value ~= math.floor(value) then
        return ("%.2f"):format(value)
    elseif size < 100 and value ~= math.floor(value) then
        return ("%.1f"):format(value)
    end
    local text = ("%.0f"):format(value)
    local sign, digits = text:match("^(%-?)(%d+)$")
    digits = digits:reverse():gsub("(%d%d%d)", "%1,"):reverse():gsub("^,", "")
    return sign .. digits
end

--- A large count in short: "2.2 M", "318 k".
function format.short(value)
    if value >= 1e6 then
        return ("%.3g M"):format(value / 1e6)
    elseif value >= 1e4 then
        return ("%.0f k"):format(value / 1e3)
    end
    return format.number(value)
end

--- The processors of a results' <machine>, with the quota that limits them; results of before have the number only.
function format.processors(machine)
    return machine.processors or ("%s processors"):format(machine.cpus or "?")
end

--- A rate: "12,345/s".
function format.rate(value)
    return value and format.number(value) .. "/s" or DASH
end

--- Microseconds with a unit that fits: "850 us", "3.07 ms", "2.99 s".
function format.us(value)
    if not value then
        return DASH
    elseif value < 1000 then
        return ("%.0f \194\181s"):format(value)
    elseif value < 1e6 then
        return ("%.3g ms"):format(value / 1000)
    end
    return ("%.3g s"):format(value / 1e6)
end

--- Milliseconds as published figures have them.
function format.ms(value)
    return value and format.us(value * 1000) or DASH
end

--- Seconds: "0.833 s".
function format.seconds(value)
    return value and ("%.3g s"):format(value) or DASH
end

--- A ratio: "2.69 x" with a multiplication sign.
function format.ratio(value)
    return value and ("%.2f\195\151"):format(value) or DASH
end

--- A fraction as a percentage: "0.3 %".
function format.percent(fraction)
    if not fraction then
        return DASH
    elseif fraction ~= 0 and fraction < 0.001 then
        return "< 0.1 %"
    end
    return ("%.3g %%"):format(fraction * 100)
end

--- Bytes: "512 B", "67.8 kB", "1.2 MB", "25.3 GB".
function format.bytes(value)
    if not value then
        return DASH
    elseif value < 1000 then
        return ("%.0f B"):format(value)
    elseif value < 1e6 then
        return ("%.3g kB"):format(value / 1000)
    end
    if value < 1e9 then
        return ("%.3g MB"):format(value / 1e6)
    end
    return ("%.3g GB"):format(value / 1e9)
end

--- The interval of a ratio: "2.51 to 2.88".
function format.interval(low, high)
    return low and high and ("%.2f to %.2f"):format(low, high) or DASH
end

--- Half-width of an interval relative to its centre: "\194\177 3 %".
function format.spread(estimate)
    if not estimate or not estimate.low or not estimate.mean or estimate.mean <= 0 then
        return ""
    end
    local half = (estimate.high - estimate.low) / 2 / estimate.mean * 100
    return (half < 9.95 and "\194\177 %.1f %%" or "\194\177 %.0f %%"):format(half)
end

--- Failures by kind: "12 status, 3 time-out"; empty for none.
function format.failures(failures)
    local parts = {}
    for kind, count in pairs(failures or {}) do
        if count > 0 then
            parts[#parts + 1] = ("%s %s"):format(format.number(count), kind)
        end
    end
    table.sort(parts)
    return table.concat(parts, ", ")
end

--- Published failures: "4,978 failed (length), 4,980 not 2xx"; "0" when both are none.
function format.published_failures(published)
    if not published or not published.requests then
        return DASH
    end
    local parts = {}
    if (published.failed or 0) > 0 then
        parts[1] = format.number(published.failed) .. " failed"
            .. (published.failed_kind and " (" .. published.failed_kind .. ")" or "")
    end
    if (published.non_2xx or 0) > 0 then
        parts[#parts + 1] = format.number(published.non_2xx) .. " not 2xx"
    end
    return #parts > 0 and table.concat(parts, ", ") .. " of " .. format.number(published.requests) or "0"
end

return format
