/* SPDX-License-Identifier: MIT */
#include "base/calendar.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define DAY_S       86400
#define STEP_S      (5 * DAY_S) /* no zone changes its offset twice in that time */
#define YEARS       20
#define CHANGES_MAX 128

static struct {
    struct change {
        int64_t from_s;
        long offset_s;
    } change[CHANGES_MAX];
    size_t count;
} zone;

struct date {
    long long year;
    int month; /* 1 to 12 */
    int day;
    int hour;
    int minute;
    int second;
    int millisecond;
    long offset_s;
};

/* --- the time zone ------------------------------------------------------------------- */

static long
offset_at(int64_t when_s)
{
    time_t when = (time_t)when_s;
    struct tm local;
    return localtime_r(&when, &local) != NULL ? local.tm_gmtoff : 0;
}

/* The first second with another offset than <low_s> has; <high_s> has it. */
static int64_t
find_change(int64_t low_s, int64_t high_s)
{
    long before = offset_at(low_s);
    while (high_s - low_s > 1) {
        int64_t middle_s = low_s + (high_s - low_s) / 2;
        if (offset_at(middle_s) == before)
            low_s = middle_s;
        else
            high_s = middle_s;
    }
    return high_s;
}

void
calendar_open(void)
{
    int64_t at_s = (int64_t)time(NULL) - DAY_S;
    int64_t end_s = at_s + (int64_t)YEARS * 366 * DAY_S;
    tzset();
    zone.change[0] = (struct change){INT64_MIN, offset_at(at_s)};
    zone.count = 1;
    for (; at_s < end_s && zone.count < CHANGES_MAX; at_s += STEP_S) {
        long offset_s = offset_at(at_s + STEP_S);
        if (offset_s != zone.change[zone.count - 1].offset_s)
            zone.change[zone.count++] = (struct change){find_change(at_s, at_s + STEP_S), offset_s};
    }
}

/* --- dates --------------------------------------------------------------------------- */

/* Civil date of a day number since 1970, by the 400-year cycle of the Gregorian calendar,
 * in years that begin on 1 March. */
static void
split_day(struct date *date, long long day)
{
    long long shifted = day + 719468; /* since 1 March 0000 */
    long long cycle = (shifted >= 0 ? shifted : shifted - 146096) / 146097;
    long long in_cycle = shifted - cycle * 146097;
    long long year = (in_cycle - in_cycle / 1460 + in_cycle / 36524 - in_cycle / 146096) / 365;
    long long in_year = in_cycle - (365 * year + year / 4 - year / 100);
    long long month = (5 * in_year + 2) / 153; /* 0: March */
    date->day = (int)(in_year - (153 * month + 2) / 5 + 1);
    date->month = (int)(month < 10 ? month + 3 : month - 9);
    date->year = year + cycle * 400 + (date->month <= 2);
}

static struct date
date_of(int64_t wall_ms)
{
    struct date date = {.millisecond = (int)(((wall_ms % 1000) + 1000) % 1000)};
    int64_t utc_s = (wall_ms - date.millisecond) / 1000;
    for (size_t i = 0; i < zone.count && zone.change[i].from_s <= utc_s; i++)
        date.offset_s = zone.change[i].offset_s;
    int64_t local_s = utc_s + date.offset_s;
    int64_t in_day = ((local_s % DAY_S) + DAY_S) % DAY_S;
    split_day(&date, (local_s - in_day) / DAY_S);
    date.hour = (int)(in_day / 3600);
    date.minute = (int)(in_day / 60 % 60);
    date.second = (int)(in_day % 60);
    return date;
}

static size_t
add_offset(char text[static CALENDAR_SIZE], int length, long offset_s)
{
    long minutes = labs(offset_s) / 60;
    length += snprintf(text + length, CALENDAR_SIZE - (size_t)length, "%c%02ld%02ld",
                       offset_s < 0 ? '-' : '+', minutes / 60, minutes % 60);
    return (size_t)length;
}

static int
add_day_and_time(char text[static CALENDAR_SIZE], const struct date *date)
{
    return snprintf(text, CALENDAR_SIZE, "%04lld-%02d-%02dT%02d:%02d:%02d", date->year, date->month,
                    date->day, date->hour, date->minute, date->second);
}

size_t
calendar_precise(char text[static CALENDAR_SIZE], int64_t wall_ms)
{
    struct date date = date_of(wall_ms);
    int length = add_day_and_time(text, &date);
    length += snprintf(text + length, CALENDAR_SIZE - (size_t)length, ".%03d", date.millisecond);
    return add_offset(text, length, date.offset_s);
}

size_t
calendar_iso(char text[static CALENDAR_SIZE], int64_t wall_ms)
{
    struct date date = date_of(wall_ms);
    return add_offset(text, add_day_and_time(text, &date), date.offset_s);
}

size_t
calendar_common(char text[static CALENDAR_SIZE], int64_t wall_ms)
{
    static const char months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
    struct date date = date_of(wall_ms);
    int length =
        snprintf(text, CALENDAR_SIZE, "%02d/%.3s/%04lld:%02d:%02d:%02d ", date.day,
                 months + 3 * (date.month - 1), date.year, date.hour, date.minute, date.second);
    return add_offset(text, length, date.offset_s);
}
