import GRDB

/// A music shop with the published schema of Chinook, and generated rows.
enum ChinookSample {
    /// The tables with keys that SQLite counts.
    static let counted = ["Album", "Artist", "Customer", "Employee", "Genre", "Invoice", "InvoiceLine", "MediaType", "Playlist", "Track"]
    static let tables = counted + ["PlaylistTrack"]

    static let schema = """
        CREATE TABLE [Album] ([AlbumId] INTEGER NOT NULL, [Title] NVARCHAR(160) NOT NULL, [ArtistId] INTEGER NOT NULL,
            CONSTRAINT [PK_Album] PRIMARY KEY ([AlbumId]),
            FOREIGN KEY ([ArtistId]) REFERENCES [Artist] ([ArtistId]) ON DELETE NO ACTION ON UPDATE NO ACTION);
        CREATE TABLE [Artist] ([ArtistId] INTEGER NOT NULL, [Name] NVARCHAR(120), CONSTRAINT [PK_Artist] PRIMARY KEY ([ArtistId]));
        CREATE TABLE [Customer] ([CustomerId] INTEGER NOT NULL, [FirstName] NVARCHAR(40) NOT NULL, [LastName] NVARCHAR(20) NOT NULL,
            [Company] NVARCHAR(80), [City] NVARCHAR(40), [Email] NVARCHAR(60) NOT NULL, [SupportRepId] INTEGER,
            CONSTRAINT [PK_Customer] PRIMARY KEY ([CustomerId]),
            FOREIGN KEY ([SupportRepId]) REFERENCES [Employee] ([EmployeeId]) ON DELETE NO ACTION ON UPDATE NO ACTION);
        CREATE TABLE [Employee] ([EmployeeId] INTEGER NOT NULL, [LastName] NVARCHAR(20) NOT NULL, [FirstName] NVARCHAR(20) NOT NULL,
            [Title] NVARCHAR(30), [ReportsTo] INTEGER, [BirthDate] DATETIME, CONSTRAINT [PK_Employee] PRIMARY KEY ([EmployeeId]),
            FOREIGN KEY ([ReportsTo]) REFERENCES [Employee] ([EmployeeId]) ON DELETE NO ACTION ON UPDATE NO ACTION);
        CREATE TABLE [Genre] ([GenreId] INTEGER NOT NULL, [Name] NVARCHAR(120), CONSTRAINT [PK_Genre] PRIMARY KEY ([GenreId]));
        CREATE TABLE [Invoice] ([InvoiceId] INTEGER NOT NULL, [CustomerId] INTEGER NOT NULL, [InvoiceDate] DATETIME NOT NULL,
            [BillingCity] NVARCHAR(40), [Total] NUMERIC(10,2) NOT NULL, CONSTRAINT [PK_Invoice] PRIMARY KEY ([InvoiceId]),
            FOREIGN KEY ([CustomerId]) REFERENCES [Customer] ([CustomerId]) ON DELETE NO ACTION ON UPDATE NO ACTION);
        CREATE TABLE [InvoiceLine] ([InvoiceLineId] INTEGER NOT NULL, [InvoiceId] INTEGER NOT NULL, [TrackId] INTEGER NOT NULL,
            [UnitPrice] NUMERIC(10,2) NOT NULL, [Quantity] INTEGER NOT NULL, CONSTRAINT [PK_InvoiceLine] PRIMARY KEY ([InvoiceLineId]),
            FOREIGN KEY ([InvoiceId]) REFERENCES [Invoice] ([InvoiceId]) ON DELETE NO ACTION ON UPDATE NO ACTION,
            FOREIGN KEY ([TrackId]) REFERENCES [Track] ([TrackId]) ON DELETE NO ACTION ON UPDATE NO ACTION);
        CREATE TABLE [MediaType] ([MediaTypeId] INTEGER NOT NULL, [Name] NVARCHAR(120), CONSTRAINT [PK_MediaType] PRIMARY KEY ([MediaTypeId]));
        CREATE TABLE [Playlist] ([PlaylistId] INTEGER NOT NULL, [Name] NVARCHAR(120), CONSTRAINT [PK_Playlist] PRIMARY KEY ([PlaylistId]));
        CREATE TABLE [PlaylistTrack] ([PlaylistId] INTEGER NOT NULL, [TrackId] INTEGER NOT NULL,
            CONSTRAINT [PK_PlaylistTrack] PRIMARY KEY ([PlaylistId], [TrackId]),
            FOREIGN KEY ([PlaylistId]) REFERENCES [Playlist] ([PlaylistId]) ON DELETE NO ACTION ON UPDATE NO ACTION,
            FOREIGN KEY ([TrackId]) REFERENCES [Track] ([TrackId]) ON DELETE NO ACTION ON UPDATE NO ACTION);
        CREATE TABLE [Track] ([TrackId] INTEGER NOT NULL, [Name] NVARCHAR(200) NOT NULL, [AlbumId] INTEGER, [MediaTypeId] INTEGER NOT NULL,
            [GenreId] INTEGER, [Composer] NVARCHAR(220), [Milliseconds] INTEGER NOT NULL, [Bytes] INTEGER, [UnitPrice] NUMERIC(10,2) NOT NULL,
            CONSTRAINT [PK_Track] PRIMARY KEY ([TrackId]),
            FOREIGN KEY ([AlbumId]) REFERENCES [Album] ([AlbumId]) ON DELETE NO ACTION ON UPDATE NO ACTION,
            FOREIGN KEY ([GenreId]) REFERENCES [Genre] ([GenreId]) ON DELETE NO ACTION ON UPDATE NO ACTION,
            FOREIGN KEY ([MediaTypeId]) REFERENCES [MediaType] ([MediaTypeId]) ON DELETE NO ACTION ON UPDATE NO ACTION);
        CREATE INDEX [IFK_AlbumArtistId] ON [Album] ([ArtistId]);
        CREATE INDEX [IFK_CustomerSupportRepId] ON [Customer] ([SupportRepId]);
        CREATE INDEX [IFK_EmployeeReportsTo] ON [Employee] ([ReportsTo]);
        CREATE INDEX [IFK_InvoiceCustomerId] ON [Invoice] ([CustomerId]);
        CREATE INDEX [IFK_InvoiceLineInvoiceId] ON [InvoiceLine] ([InvoiceId]);
        CREATE INDEX [IFK_InvoiceLineTrackId] ON [InvoiceLine] ([TrackId]);
        CREATE INDEX [IFK_PlaylistTrackTrackId] ON [PlaylistTrack] ([TrackId]);
        CREATE INDEX [IFK_TrackAlbumId] ON [Track] ([AlbumId]);
        CREATE INDEX [IFK_TrackGenreId] ON [Track] ([GenreId]);
        CREATE INDEX [IFK_TrackMediaTypeId] ON [Track] ([MediaTypeId]);
        """

    /// Fills the tables.
    static let rows = """
        WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 20) INSERT INTO Artist SELECT i, 'Artist ' || i FROM n;
        WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 40)
        INSERT INTO Album SELECT i, 'Album ' || i, 1 + i * 7 % 20 FROM n;
        INSERT INTO MediaType VALUES (1, 'MPEG'), (2, 'AAC'), (3, 'Video'); INSERT INTO Genre VALUES (1, 'Rock'), (2, 'Jazz'), (3, 'Metal'), (4, NULL);
        WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 200)
        INSERT INTO Track SELECT i, 'Track ' || i, CASE WHEN i % 10 > 0 THEN 1 + i * 3 % 40 END, 1 + i % 3, CASE WHEN i % 7 > 0 THEN 1 + i % 4 END,
            CASE WHEN i % 2 THEN 'Composer' END, i * 1000, i * 30000, 0.99 FROM n;
        INSERT INTO Employee VALUES (1, 'Adams', 'Andrew', 'Manager', NULL, '1962-02-18'), (2, 'Edwards', 'Nancy', 'Manager', 1, NULL),
            (3, 'Peacock', 'Jane', 'Agent', 2, NULL), (4, 'Park', 'Margaret', 'Agent', 2, NULL), (6, 'Mitchell', 'Michael', 'IT', 1, NULL);
        WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 30)
        INSERT INTO Customer SELECT i, 'First ' || i, 'Last ' || i, NULL, 'City', i || '@example.org', CASE WHEN i % 3 > 0 THEN 2 + i % 3 END FROM n;
        WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 60)
        INSERT INTO Invoice SELECT i, 1 + i % 30, '2009-01-01', 'City', i * 0.99 FROM n;
        WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 150)
        INSERT INTO InvoiceLine SELECT i, 1 + i % 60, 1 + i * 11 % 200, 0.99, 1 FROM n;
        INSERT INTO Playlist VALUES (1, 'Music'), (3, 'TV'), (17, 'Heavy');
        INSERT INTO PlaylistTrack SELECT 1, TrackId FROM Track UNION ALL SELECT 17, TrackId FROM Track WHERE TrackId % 9 = 0;
        """

    /// Queries through every reference, without a key in what they return.
    static let meanings = [
        """
        SELECT Track.rowid, Track.Name, Title, Artist.Name, Genre.Name, MediaType.Name, Milliseconds, Composer FROM Track
        LEFT JOIN Album USING (AlbumId) LEFT JOIN Artist USING (ArtistId) LEFT JOIN Genre USING (GenreId) JOIN MediaType USING (MediaTypeId) ORDER BY 1
        """,
        """
        SELECT e.rowid, e.LastName, e.Title, e.BirthDate, boss.LastName FROM Employee e LEFT JOIN Employee boss ON boss.EmployeeId = e.ReportsTo ORDER BY 1
        """,
        """
        SELECT InvoiceLine.rowid, Track.Name, Total, Customer.Email, Employee.LastName, Quantity FROM InvoiceLine JOIN Invoice USING (InvoiceId)
        JOIN Customer USING (CustomerId) JOIN Track USING (TrackId) LEFT JOIN Employee ON EmployeeId = SupportRepId ORDER BY 1
        """,
        "SELECT PlaylistTrack.rowid, Playlist.Name, Track.Name FROM PlaylistTrack JOIN Playlist USING (PlaylistId) JOIN Track USING (TrackId) ORDER BY 1",
        "SELECT Artist.rowid, Artist.Name, count(Title) FROM Artist LEFT JOIN Album USING (ArtistId) GROUP BY ArtistId ORDER BY 1",
    ]
}
