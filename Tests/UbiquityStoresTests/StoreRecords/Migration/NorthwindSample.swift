import GRDB

/// A trading company with the published schema of Northwind, and generated rows.
///
/// Some of its keys are text, some are counted; a table has a space in its name, and views join most tables.
enum NorthwindSample {
    /// The tables with keys that SQLite counts.
    static let counted = ["Categories", "Employees", "Orders", "Products", "Region", "Shippers", "Suppliers"]
    static let tables =
        counted + ["CustomerCustomerDemo", "CustomerDemographics", "Customers", "EmployeeTerritories", "Order Details", "Territories"]

    static let schema = """
        CREATE TABLE [Categories] ([CategoryID] INTEGER PRIMARY KEY AUTOINCREMENT, [CategoryName] TEXT, [Description] TEXT, [Picture] BLOB);
        CREATE TABLE [CustomerCustomerDemo] ([CustomerID] TEXT NOT NULL, [CustomerTypeID] TEXT NOT NULL,
            PRIMARY KEY ("CustomerID", "CustomerTypeID"), FOREIGN KEY ([CustomerID]) REFERENCES [Customers] ([CustomerID]),
            FOREIGN KEY ([CustomerTypeID]) REFERENCES [CustomerDemographics] ([CustomerTypeID]));
        CREATE TABLE [CustomerDemographics] ([CustomerTypeID] TEXT NOT NULL, [CustomerDesc] TEXT, PRIMARY KEY ("CustomerTypeID"));
        CREATE TABLE [Customers] ([CustomerID] TEXT NOT NULL, [CompanyName] TEXT, [City] TEXT, PRIMARY KEY (`CustomerID`));
        CREATE TABLE [Employees] ([EmployeeID] INTEGER PRIMARY KEY AUTOINCREMENT, [LastName] TEXT, [FirstName] TEXT, [BirthDate] DATE,
            [ReportsTo] INTEGER, FOREIGN KEY ([ReportsTo]) REFERENCES [Employees] ([EmployeeID]));
        CREATE TABLE [EmployeeTerritories] ([EmployeeID] INTEGER NOT NULL, [TerritoryID] TEXT NOT NULL,
            PRIMARY KEY ("EmployeeID", "TerritoryID"), FOREIGN KEY ([EmployeeID]) REFERENCES [Employees] ([EmployeeID]),
            FOREIGN KEY ([TerritoryID]) REFERENCES [Territories] ([TerritoryID]));
        CREATE TABLE [Order Details] ([OrderID] INTEGER NOT NULL, [ProductID] INTEGER NOT NULL, [UnitPrice] NUMERIC NOT NULL DEFAULT 0,
            [Quantity] INTEGER NOT NULL DEFAULT 1, [Discount] REAL NOT NULL DEFAULT 0, PRIMARY KEY ("OrderID", "ProductID"),
            CHECK ([Discount] >= (0) AND [Discount] <= (1)), CHECK ([Quantity] > (0)), CHECK ([UnitPrice] >= (0)),
            FOREIGN KEY ([OrderID]) REFERENCES [Orders] ([OrderID]), FOREIGN KEY ([ProductID]) REFERENCES [Products] ([ProductID]));
        CREATE TABLE [Orders] ([OrderID] INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, [CustomerID] TEXT, [EmployeeID] INTEGER, [OrderDate] DATETIME,
            [ShipVia] INTEGER, [Freight] NUMERIC DEFAULT 0, FOREIGN KEY ([EmployeeID]) REFERENCES [Employees] ([EmployeeID]),
            FOREIGN KEY ([CustomerID]) REFERENCES [Customers] ([CustomerID]), FOREIGN KEY ([ShipVia]) REFERENCES [Shippers] ([ShipperID]));
        CREATE TABLE [Products] ([ProductID] INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, [ProductName] TEXT NOT NULL, [SupplierID] INTEGER,
            [CategoryID] INTEGER, [UnitPrice] NUMERIC DEFAULT 0, [UnitsInStock] INTEGER DEFAULT 0, [Discontinued] TEXT NOT NULL DEFAULT '0',
            CHECK ([UnitPrice] >= (0)), CHECK ([UnitsInStock] >= (0)),
            FOREIGN KEY ([CategoryID]) REFERENCES [Categories] ([CategoryID]), FOREIGN KEY ([SupplierID]) REFERENCES [Suppliers] ([SupplierID]));
        CREATE TABLE [Region] ([RegionID] INTEGER NOT NULL PRIMARY KEY, [RegionDescription] TEXT NOT NULL);
        CREATE TABLE [Shippers] ([ShipperID] INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, [CompanyName] TEXT NOT NULL, [Phone] TEXT);
        CREATE TABLE [Suppliers] ([SupplierID] INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, [CompanyName] TEXT NOT NULL, [HomePage] TEXT);
        CREATE TABLE [Territories] ([TerritoryID] TEXT NOT NULL, [TerritoryDescription] TEXT NOT NULL, [RegionID] INTEGER NOT NULL,
            PRIMARY KEY ("TerritoryID"), FOREIGN KEY ([RegionID]) REFERENCES [Region] ([RegionID]));
        CREATE VIEW [Alphabetical list of products] AS SELECT Products.*, Categories.CategoryName FROM Categories
            INNER JOIN Products ON Categories.CategoryID = Products.CategoryID WHERE (((Products.Discontinued) = 0));
        CREATE VIEW [Order Subtotals] AS SELECT [Order Details].OrderID, Sum(([Order Details].UnitPrice * Quantity * (1 - Discount) / 100) * 100) AS Subtotal
            FROM [Order Details] GROUP BY [Order Details].OrderID;
        CREATE VIEW [Product Sales] AS SELECT Categories.CategoryName, Products.ProductName, Suppliers.CompanyName, Quantity FROM
            (Categories INNER JOIN Products ON Categories.CategoryID = Products.CategoryID)
            INNER JOIN Suppliers USING (SupplierID) INNER JOIN (Orders INNER JOIN [Order Details] ON Orders.OrderID = [Order Details].OrderID)
            ON Products.ProductID = [Order Details].ProductID;
        """

    /// Fills the tables.
    static let rows = """
        INSERT INTO Categories VALUES (1, 'Beverages', 'Soft drinks', x'00FF'), (2, 'Condiments', NULL, NULL), (8, 'Seafood', 'Weed and fish', NULL);
        INSERT INTO Region VALUES (1, 'Eastern'), (2, 'Western'), (3, 'Northern');
        INSERT INTO Territories VALUES ('01581', 'Westboro', 1), ('98004', 'Bellevue', 2), ('48084', 'Troy', 3);
        INSERT INTO Employees VALUES (2, 'Fuller', 'Andrew', '1952-02-19', NULL), (1, 'Davolio', 'Nancy', NULL, 2), (5, 'Buchanan', 'Steven', NULL, 2),
            (6, 'Suyama', 'Michael', NULL, 5);
        INSERT INTO EmployeeTerritories VALUES (1, '01581'), (2, '01581'), (5, '98004'), (6, '48084');
        INSERT INTO Shippers VALUES (1, 'Speedy', '1'), (2, 'United', '2'), (3, 'Federal', NULL);
        WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 12) INSERT INTO Suppliers SELECT i, 'Supplier ' || i, NULL FROM n;
        WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 77)
        INSERT INTO Products SELECT i, 'Product ' || i, 1 + i % 12, CASE i % 4 WHEN 0 THEN NULL WHEN 1 THEN 1 WHEN 2 THEN 2 ELSE 8 END, i, i, i % 5 = 0 FROM n;
        INSERT INTO Customers VALUES ('ALFKI', 'Alfreds', 'Berlin'), ('BERGS', 'Berglunds', 'Luleå'), ('10', 'Ten', NULL);
        INSERT INTO CustomerDemographics VALUES ('1', 'Digits that are text'); INSERT INTO CustomerCustomerDemo VALUES ('ALFKI', '1'), ('10', '1');
        WITH RECURSIVE n(i) AS (VALUES (10248) UNION ALL SELECT i + 1 FROM n WHERE i < 10300)
        INSERT INTO Orders SELECT i, CASE i % 3 WHEN 0 THEN 'ALFKI' WHEN 1 THEN 'BERGS' END, CASE i % 4 WHEN 0 THEN NULL WHEN 1 THEN 1 WHEN 2 THEN 5 ELSE 6 END,
            '1996-07-04', 1 + i % 3, 32.38 FROM n;
        INSERT INTO [Order Details] SELECT OrderID, ProductID, 14, 12, 0.05 FROM Orders JOIN Products WHERE (OrderID + ProductID) % 19 = 0;
        """

    /// Queries through every reference, without a key in what they return.
    static let meanings = [
        """
        SELECT Orders.rowid, Customers.CompanyName, Employees.LastName, Shippers.CompanyName, Freight FROM Orders LEFT JOIN Customers USING (CustomerID)
        LEFT JOIN Employees USING (EmployeeID) JOIN Shippers ON ShipperID = ShipVia ORDER BY 1
        """,
        """
        SELECT d.rowid, o.rowid, ProductName, d.UnitPrice, Quantity, Discount FROM [Order Details] d JOIN Orders o USING (OrderID) JOIN Products USING (ProductID)
        ORDER BY 1
        """,
        """
        SELECT Products.rowid, ProductName, CompanyName, CategoryName, quote(Picture) FROM Products JOIN Suppliers USING (SupplierID)
        LEFT JOIN Categories USING (CategoryID) ORDER BY 1
        """,
        "SELECT e.rowid, e.LastName, boss.LastName FROM Employees e LEFT JOIN Employees boss ON boss.EmployeeID = e.ReportsTo ORDER BY 1",
        """
        SELECT EmployeeTerritories.rowid, LastName, TerritoryDescription, RegionDescription FROM EmployeeTerritories JOIN Employees USING (EmployeeID)
        JOIN Territories USING (TerritoryID) JOIN Region USING (RegionID) ORDER BY 1
        """,
        "SELECT * FROM CustomerCustomerDemo JOIN CustomerDemographics USING (CustomerTypeID) ORDER BY 1",
        "SELECT ProductName, CategoryName FROM [Alphabetical list of products] ORDER BY 1", "SELECT * FROM [Product Sales] ORDER BY 1, 2, 3, 4",
        "SELECT Orders.rowid, Subtotal FROM [Order Subtotals] JOIN Orders USING (OrderID) ORDER BY 1",
    ]
}
