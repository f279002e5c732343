"""Facsimiles of public archives, which are recognised by their columns: reviews, clicks, sensors, judged documents."""

import functools

import pytest

from golden.command import Case


def ratings(name, content, file="ratings.csv", columns=None, duplicates="last"):
    """A case: ratings or clicks are read with all that belongs to them, and are copied as csv."""
    options = f" --columns {columns}" if columns else ""
    options += f" --duplicates {duplicates}" if duplicates != "last" else ""
    reading = functools.partial(read, file, columns=columns, duplicates=duplicates)
    return Case(name, (reading, f"convert {file} out.csv{options}"), {file: content}, outputs=("out.csv",))


def read(file, **how):
    """All columns of ratings, with the ids in place of rows, and the number of ratings that were merged."""
    import gpukit

    ratings = gpukit.read_ratings(file, times="auto", **how)
    columns = ratings.columns()
    columns["users"], columns["items"] = ratings.user_ids[ratings.users], ratings.item_ids[ratings.items]
    columns["users"], columns["items"] = columns["users"].tolist(), columns["items"].tolist()
    return {"merged": ratings.merged, **{name: [str(getattr(c, "dtype", "")), c] for name, c in columns.items()}}


def sensors(name, content, options="", file="table.csv"):
    """A case: a table is filled in, and comes back as it was."""
    command = f"impute {file} --method interpolation --output out.csv {options}".strip()
    return Case(name, command, {file: content}, outputs=("out.csv",))


def documents(name, files, options=""):
    """A case: the first of the files is copied with what is next to it; the copy becomes svmlight and Parquet."""
    commands = (f"convert {next(iter(files))} copy.gkl {options}".strip(), "convert copy.gkl out.txt")
    return Case(name, (*commands, "convert copy.gkl out.parquet"), files, outputs=("out.txt", "out.parquet"))


REVIEWS = (
    ratings(
        "Amazon, a row a review",
        "reviewerID,asin,overall,reviewText,unixReviewTime\nA1,B01,5.0,Good,1369699200\n"
        'A2,B01,3.0,"So, so",1355443200\n'
        "A1,B02,1.0,Bad,1404691200\n",
    ),
    ratings(
        "Amazon of 2023",
        "user_id,parent_asin,rating,timestamp,history\nAFKZ,B09,5.0,1588687728923,\nAFKZ,B08,4.0,1470016085000,B09\n",
    ),
    ratings("Amazon without a header", "A1,B01,5.0,1369699200\nA2,B01,3.0,1355443200\n"),
    ratings(
        "Yelp",
        "review_id,user_id,business_id,stars,date\nr1,u1,b1,5.0,2018-07-07 22:09:11\n"
        "r2,u2,b1,3.0,2012-01-03 15:28:18\n",
    ),
    ratings("Book-Crossing", '"User-ID";"ISBN";"Book-Rating"\n"276725";"034545104X";"0"\n"276726";"0155061224";"5"\n'),
    ratings("Goodreads", "user_id,book_id,is_read,rating,is_reviewed\n0,948,1,5,0\n0,947,1,3,1\n1,948,1,0,0\n"),
    ratings(
        "Food.com",
        'user_id,recipe_id,date,rating,review\n38094,40893,2003-02-17,4,"Great\nwith a salad"\n'
        "1293707,40893,2011-12-21,5,So good\n",
    ),
    ratings(
        "BeerAdvocate",
        "brewery_id,review_time,review_overall,review_profilename,beer_beerid\n10325,1234817823,1.5,stcules,47986\n",
    ),
    ratings("MyAnimeList", "user_id,anime_id,rating\n1,20,-1\n1,24,10\n2,20,8\n"),
    ratings(
        "RecBole",
        "user_id:token\titem_id:token\trating:float\ttimestamp:float\n196\t242\t3\t881250949\n"
        "186\t302\t3.5\t891717742\n",
        "x.inter",
    ),
    ratings("Epinions", "user item rating\n1 100 5\n1 101 2\n2 100 4\n", "ratings_data.txt"),
    ratings("FilmTrust", "1 1 2\n1 2 4\n2 1 3.5\n", "ratings.txt"),
    ratings("MovieLens 1M's users beside", "1::F::1::10::48067\n2::M::56::16::70072\n", "users.dat"),
    ratings("Jester, a column a joke", "74,-7.82,8.79,-9.66,-8.16\n100,4.08,-.29,6.36,4.37\n"),
    ratings(
        "Netflix, blocks",
        "1:\n1488844,3,2005-09-06\n822109,5,2005-05-13\n2:\n1488844,4,2005-09-07\n",
        "combined_data_1.txt",
    ),
    ratings("Netflix, a movie without ratings", "1:\n2:\n1488844,4,2005-09-07\n", "combined_data_1.txt"),
    ratings("Netflix, the probe", "1:\n30878\n2647871\n10:\n1952305\n", "probe.txt"),
    ratings(
        "Matrix Market",
        "%%MatrixMarket matrix coordinate real general\n% made by hand\n3 2 3\n1 1 5\n2 1 4.5\n3 2 1\n",
        "r.mtx",
    ),
    ratings(
        "Matrix Market, indices beyond",
        "%%MatrixMarket matrix coordinate real general\n3 2 2\n1 1 5\n4 1 4.5\n",
        "r.mtx",
    ),
    ratings(
        "Matrix Market, fewer than declared", "%%MatrixMarket matrix coordinate real general\n3 2 3\n1 1 5\n", "r.mtx"
    ),
    ratings("MovieLens' colons with times missing", "1::10::5\n2::11::3.5\n", "ratings.dat"),
    ratings("MovieLens' colons with text", "a::b::5::9\n\u00e9::d e::3::8\n", "ratings.dat"),
)
CLICKS = (
    ratings("Last.fm, plays", "userID\tartistID\tweight\n2\t51\t13883\n2\t52\t11690\n3\t51\t228\n", "user_artists.dat"),
    ratings(
        "RetailRocket",
        "timestamp,visitorid,event,itemid,transactionid\n1433221332117,257597,view,355908,\n"
        "1433224214164,992329,view,248676,\n",
    ),
    ratings(
        "RetailRocket, columns named",
        "timestamp,visitorid,event,itemid,transactionid\n1433221332117,257597,view,355908,\n"
        "1433224214164,992329,view,248676,\n",
        columns="timestamp,user,-,item,-",
    ),
    ratings(
        "H&M",
        "t_dat,customer_id,article_id,price,sales_channel_id\n2018-09-20,000058a1,0663713001,0.05,2\n"
        "2018-09-20,000058a1,0541518023,0.03,2\n",
        columns="timestamp,user,item,-,-",
    ),
    ratings(
        "Online Retail",
        "InvoiceNo,StockCode,Quantity,InvoiceDate,UnitPrice,CustomerID\n536365,85123A,6,12/1/2010 8:26,2.55,17850\n",
    ),
    ratings(
        "a play list",
        "user_id,song_id,play_count\nb80344d063b5ccb3,SOAKIMP12A8C130995,1\nb80344d063b5ccb3,SOBBMDR12A8C13253B,2\n",
    ),
    ratings(
        "a play list without a header",
        "b80344d063b5ccb3\tSOAKIMP12A8C130995\t1\nb80344d063b5ccb3\tSOBBMDR12A8C13253B\t2\n",
    ),
    ratings("Steam, hours", "user_id,game_id,hours\n151603712,10,273.0\n151603712,20,.5\n"),
    ratings(
        "KuaiRec",
        "user_id,video_id,play_duration,video_duration,timestamp,watch_ratio\n"
        "0,3649,13838,10867,1593878903.438,1.273\n",
    ),
    ratings("NCF's lists", "0\t32\t4\t978824330\n1\t34\t1\t978824331\n", "ml-1m.train.rating"),
    ratings("clicks by the hour, counted", "user,item,timestamp\n1,10,5\n1,10,7\n2,10,6\n"),
    ratings(
        "counts repeated, the mean",
        "user,item,rating,count,weight\n1,10,5,2,1\n1,10,2,5,.5\n2,10,4,1,1\n",
        columns="user,item,rating,count,weight",
        duplicates="mean",
    ),
    ratings(
        "counts and times repeated, the mean",
        "u,i,r,c,t\n1,10,5,2,30\n1,10,2,5,10\n2,10,4,1,1\n",
        columns="user,item,rating,count,timestamp",
        duplicates="mean",
    ),
    ratings(
        "counts repeated, the last",
        "u,i,r,c,t\n1,10,5,2,30\n1,10,2,5,10\n2,10,4,1,1\n",
        columns="user,item,rating,count,timestamp",
    ),
    ratings("repeated at one time", "user,item,rating,timestamp\n1,10,5,7\n1,10,2,7\n2,10,4,1\n2,10,3,1\n2,10,1,0\n"),
    ratings("repeated, times lacking", "user,item,rating,timestamp\n1,10,5,7\n1,10,2,\n2,10,4,\n2,10,3,9\n"),
    ratings("times with fractions", "user,item,rating,timestamp\n1,10,5,30.9\n1,11,2,-.5\n2,10,4,1e9\n"),
    ratings(
        "times in zones",
        "user,item,rating,timestamp\n1,10,5,2020-03-01T12:00:00+02:00\n1,11,2,2020-03-01 12:00\n"
        "2,10,4,2020-03-01T12:00Z\n",
    ),
    ratings("repeated by dates", "user,item,rating,date\n1,10,5,2020-03-01\n1,10,2,2020-02-29\n2,10,4,2019-12-31\n"),
    ratings("repeated, refused", "1,10,5\n1,11,3\n1,10,4\n", duplicates="error"),
)
SENSORS = (
    sensors(
        "METR-LA",
        ",773869,767541\n2012-03-01 00:00:00,64.375,67.625\n2012-03-01 00:05:00,62.6,\n"
        "2012-03-01 00:10:00,,63.1\n2012-03-01 00:15:00,61.5,62\n",
    ),
    sensors(
        "UCI's air quality",
        "Date;Time;CO(GT);NOx(GT);;\n10/03/2004;18.00.00;2,6;166;;\n10/03/2004;19.00.00;2;-200;;\n"
        "10/03/2004;20.00.00;-200;131;;\n10/03/2004;21.00.00;2,2;172;;\n;;;;;\n",
        "--missing-value -200",
    ),
    sensors(
        "Beijing's PM2.5",
        "No,year,month,day,hour,pm2.5,TEMP,cbwd\n1,2010,1,1,0,NA,-11,NW\n2,2010,1,1,1,129,-12,NW\n"
        "3,2010,1,1,2,148,,cv\n4,2010,1,1,3,159,-14,NW\n",
    ),
    sensors(
        "GHCN, one value",
        "STATION,DATE,TMAX\nA,2020-01-01,5.5\nB,2020-01-01,7\nA,2020-01-02,\nB,2020-01-02,8\nB,2020-01-03,9\n",
    ),
    sensors(
        "GHCN, several values",
        "STATION,DATE,PRCP,TMAX\nA,2020-01-01,0,5.5\nB,2020-01-01,1,7\nA,2020-01-02,2,\nB,2020-01-02,0,8\n",
    ),
    sensors(
        "GHCN, columns named",
        "STATION,DATE,PRCP,TMAX\nA,2020-01-01,0,5.5\nB,2020-01-01,1,7\nA,2020-01-02,2,\nB,2020-01-02,0,8\n",
        "--columns sensor,time,-,value",
    ),
    sensors(
        "Germany's weather",
        "STATIONS_ID;MESS_DATUM;TT_TU\n1;2020010100;3,5\n1;2020010101;3,25\n2;2020010100;-1,5\n2;2020010102;-2\n",
    ),
    sensors(
        "the World Bank",
        '"Country Name","Country Code","2000","2001","2002"\n"Aruba","ABW","1.5","","3"\n"Chile","CHL","4","5","6.5"\n',
    ),
    sensors(
        "OpenAQ",
        "location,city,utc,parameter,value\nX,P,2020-01-01T00:00:00Z,pm25,5\nY,P,2020-01-01T00:00:00Z,pm25,7\n"
        "X,P,2020-01-01T01:00:00Z,pm25,6\n",
    ),
    sensors(
        "electricity",
        '"";"MT_001";"MT_002"\n"2011-01-01 00:15:00";1,5;0\n"2011-01-01 00:30:00";;2,5\n"2011-01-01 00:45:00";3;\n',
    ),
    sensors(
        "a household's power",
        "Date;Time;Global_active_power;Voltage\n16/12/2006;17:24:00;4.216;234.840\n"
        "16/12/2006;17:25:00;?;233.630\n16/12/2006;17:26:00;5.374;?\n",
    ),
    sensors("a panel of firms", "firm,year,value\n1,1935,317.6\n1,1936,\n2,1935,290.6\n2,1936,291.6\n"),
    sensors(
        "prices",
        "Date,Symbol,Close\n2020-01-02,AAA,10.5\n2020-01-02,BBB,20\n2020-01-03,AAA,\n2020-01-03,BBB,21\n"
        "2020-01-06,AAA,11\n",
    ),
    sensors("sensors by times", "sensor,2024-01-01,2024-01-02,2024-01-03\na,1,,3\nb,4.5,5,\n"),
    sensors("three columns without names", "2024-01-01,a,1.5\n2024-01-01,b,2\n2024-01-02,a,\n2024-01-02,b,3\n"),
    sensors(
        "three columns without names, which are named",
        "2024-01-01,a,1.5\n2024-01-01,b,2\n2024-01-02,a,\n2024-01-02,b,3\n",
        "--columns time,sensor,value",
    ),
    sensors("days or months first", "date,a,b\n01/03/2020,1,2\n02/03/2020,,3\n03/03/2020,3,4\n"),
    sensors(
        "days first, as is said",
        "date,a,b\n01/03/2020,1,2\n02/03/2020,,3\n03/03/2020,3,4\n",
        "--columns time:dmy,value,...",
    ),
    sensors(
        "one station's river",
        "agency\tsite_no\tdatetime\tflow\tcode\tlevel\n"
        + "".join(f"USGS\t0164\t2020-01-0{d}\t{d}.5\tA\t{'' if d == 3 else d}\n" for d in range(1, 6)),
    ),
    sensors(
        "one station's river, columns named",
        "agency\tsite_no\tdatetime\tflow\tcode\tlevel\n"
        + "".join(f"USGS\t0164\t2020-01-0{d}\t{d}.5\tA\t{'' if d == 3 else d}\n" for d in range(1, 6)),
        "--columns -,-,time,value,-,value",
    ),
    sensors("epidemics", "Province,Country,Lat,1/22/20,1/23/20,1/24/20\n,France,1,2,,4\nHubei,China,3,5,6,7\n"),
    sensors("decimal points in one column, commas in another", "time;a;b\n2024-01-01;1.5;2,5\n2024-01-02;;3\n"),
    sensors("marks of thousands", 'time,a,b\n2024-01-01,"1,234",5\n2024-01-02,"2,345",6\n2024-01-03,,7\n'),
)
LETOR = (
    documents(
        "LETOR 4",
        {
            "train.txt": "0 qid:10002 1:0.007477 2:0.0 #docid = GX008-86-4444840 inc = 1 prob = 0.086622\n"
            "2 qid:10002 1:0.603738 2:1.0 #docid = GX037-06-11625428 inc = 0.0031586555555558 prob = 0.0897452\n"
            "1 qid:10003 1:.5 2:.25 #docid = GX1 inc = 1 prob = 0\n"
        },
    ),
    documents(
        "OHSUMED",
        {"train.txt": "2 qid:1 1:3.00000000 2:2.07944154 #docid = 40626\n0 qid:1 1:0 2:.69314718 #docid = 11852\n"},
    ),
    documents("MSLR", {"train.txt": "2 qid:1 1:3 2:3 3:0 \n0 qid:1 1:1 2:0 3:-1.5 \n1 qid:13 1:2 2:2 3:1e-5 \n"}),
    *(
        documents(
            f"NULL, {null}",
            {"train.txt": "2 qid:1 1:NULL 2:2\n0 qid:1 1:-3 2:NULL\n1 qid:2 1:NULL 2:1\n"},
            f"--null {null}",
        )
        for null in ("error", "min", "zero")
    ),
    documents("LightGBM", {"train.txt": "2 0:.5 1:1\n0 0:.1\n1 1:2\n", "train.txt.query": "2\n1\n"}),
    documents("LightGBM, counted from 1", {"train.txt": "2 1:.5 2:1\n0 1:.1\n1 2:2\n", "train.txt.query": "2\n1\n"}),
    documents("XGBoost", {"train.txt": "2 1:.5 2:1\n0 1:.1\n1 2:2\n", "train.txt.group": "2\n1\n"}),
    documents("groups that do not add up", {"train.txt": "2 1:.5 2:1\n0 1:.1\n1 2:2\n", "train.txt.group": "2\n2\n"}),
    documents(
        "a weight for each query",
        {"train.txt": "2 qid:1 1:.5\n0 qid:1 1:.1\n1 qid:2 1:2\n", "train.txt.weight": "1\n.5\n"},
    ),
    documents(
        "a table with weights and documents' names",
        {"t.csv": "query_id,relevance,doc_id,weight,bm25\n7,2,d1,1.5,.25\n7,0,d2,1.5,\n8,1,d3,1,3\n"},
        "--null zero",
    ),
    documents("a table with two labels", {"t.csv": "qid,label,relevance,x\n7,2,2,.25\n"}),
    documents("a table with queries apart", {"t.csv": "qid,label,x\n7,2,.25\n8,1,1\n7,0,1\n"}),
    documents("a table with a name twice", {"t.csv": "qid,label,x,x\n7,2,.25,1\n"}),
    documents("a table with a word", {"t.csv": "qid,label,x\n7,2,.25\n7,0,red\n"}),
    documents("a table that pandas wrote with its index", {"t.csv": ",qid,label,x\n0,7,2,.25\n1,7,0,.5\n"}),
    Case(
        "a folder of folds",
        (
            "ranksvm letor --fold 1 --c 1 --model m.gpukit --scores s.txt",
            "rank m.gpukit letor/Fold1/vali.txt --metrics",
        ),
        {
            f"letor/Fold1/{part}.txt": "2 qid:1 1:.5 2:1\n0 qid:1 1:.1 2:0\n1 qid:2 1:.7\n0 qid:2 2:3\n"
            for part in ("train", "vali", "test")
        },
        outputs=("s.txt",),
    ),
    Case("a folder without folds", "ranksvm letor --c 1", {"letor/other.txt": "1 qid:1 1:1\n"}),
)
CASES = (*REVIEWS, *CLICKS, *SENSORS, *LETOR)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_archives(check, case):
    check(case)
