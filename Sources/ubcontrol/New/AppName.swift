import ToolSupport

/// The name of a new app, from which its package, its modules and its program are named.
struct AppName: Equatable {
    /// The name of the package, such as `Shopping`.
    let package: String
    /// The name of the program and of its module, such as `shopping`.
    var program: String { package.lowercased() }
    /// The name of the type that holds the program's entry point, such as `Shopping`.
    var type: String { package.prefix(1).uppercased() + package.dropFirst() }
    /// The module with the table and the store, such as `ShoppingStore`.
    var storeModule: String { "\(type)Store" }
    /// The module of the tests, such as `ShoppingTests`.
    var testModule: String { "\(type)Tests" }
    /// The identifier of the app's container, unless another one is given.
    var identifier: String { "org.example.\(program)" }

    /// The greatest number of characters of a name.
    static let limit = 50

    /// Checks a name.
    ///
    /// - Parameter text: an ASCII letter, then ASCII letters and digits, such as `Shopping`; neither a word of Swift nor
    ///   the name of a module or type that the app uses, or of a program of Ubiquity.
    /// - Throws: `Refusal` that says what is wrong, and what to choose.
    init(_ text: String) throws(Refusal) {
        package = text
        if let fault = Self.fault(in: text) {
            throw Refusal("The name \(text.debugDescription) \(fault); choose one like Shopping.")
        }
    }

    private static func fault(in text: String) -> String? {
        guard let first = text.unicodeScalars.first else { return "is empty" }
        guard first.isASCII, first.properties.isAlphabetic else { return "does not begin with an ASCII letter, as the name of a module does" }
        let others = text.unicodeScalars.first { !($0.isASCII && ($0.properties.isAlphabetic || ("0"..."9").contains($0))) }
        if let others { return "contains \(String(others).debugDescription): only ASCII letters and digits may follow the first letter" }
        if text.utf8.count > limit { return "is longer than \(limit) characters" }
        if words.contains(text.lowercased()) { return "is a word of Swift, which no module can have as its name" }
        let app = [text, "\(text)Store", "\(text)Tests"].map { $0.lowercased() }
        if let module = modules.first(where: { app.contains($0.lowercased()) }) { return "is taken by the module \(module), which the app uses" }
        if let type = types.first(where: { $0.lowercased() == app[0] }) { return "is taken by the type \(type), which the app uses" }
        if programs.contains(app[0]) { return "is taken by the program \(app[0]) of Ubiquity" }
        return nil
    }

    /// The words that a declaration or a module cannot have as its name.
    private static let words: Set = [
        "any", "as", "associatedtype", "break", "case", "catch", "class", "continue", "default", "defer", "deinit", "do", "else", "enum", "extension",
        "fallthrough", "false", "fileprivate", "for", "func", "guard", "if", "import", "in", "init", "inout", "internal", "is", "let", "main", "nil",
        "operator", "precedencegroup", "private", "protocol", "public", "repeat", "rethrows", "return", "self", "static", "struct", "subscript",
        "super", "switch", "throw", "throws", "true", "try", "type", "typealias", "var", "where", "while",
    ]

    /// The types that the app's program names; its own type would hide them.
    private static let types = [
        "Array", "Bool", "Command", "CommandLine", "Data", "Equatable", "FileHandle", "Item", "ItemStore", "StoreNotice", "String", "UbiquitousStore",
    ]

    /// The programs of the package: SwiftPM refuses a second target with one of these names.
    private static let programs: Set = [
        "groceries", "journal", "notes", "people", "ported", "scores", "texts", "ubcontrol", "ubiquityd", "ubtransfer", "ubwatch",
    ]

    /// The modules that an app compiles or imports.
    private static let modules = [
        "Swift", "Foundation", "FoundationEssentials", "Glibc", "Dispatch", "Synchronization", "Observation", "RegexBuilder", "Testing", "XCTest",
        "PackageDescription", "GRDB", "GRDBSQLite", "CSystem", "SystemPackage", "Logging", "CoreMetrics", "Metrics", "CLinux", "COpenSSL",
        "ByteCoding", "ContentHashing", "TreeWatching", "FileCoordination", "UbiquityContainers", "StoreFormat", "StoreAuthority", "StoreRecords",
        "StoreExchange", "HTTPPlaces", "UbiquityStores", "StoreInspection", "UbiquityDocuments", "UbiquityKeyValues", "UbiquityFoundation",
        "UbiquityTesting", "Ubiquity",
    ]
}
