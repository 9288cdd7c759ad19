import Foundation
import SystemPackage
import Testing
import ToolProcesses

/// What the tests read of `ubwatch status --json`.
struct WatchedFacts: Decodable {
    struct Device: Decodable {
        var signedIn: String?
        var peer: String?
        var detached: String?
    }
    struct Lag: Decodable {
        var peer: String
        var read: Int
        var behind: Int
        var oldest: Date?
    }
    struct Peer: Decodable {
        var peer: String
        var last: Int
        var late: Int
        var knowledge: [Lag]
    }
    struct Amount: Decodable {
        var files: Int
        var bytes: Int
    }
    struct Store: Decodable {
        var name: String
        var epoch: Int
        var logs: Int
        var peers: [Peer]
    }
    struct Exchange: Decodable {
        struct Awaited: Decodable {
            var peer: String
            var sequence: Int?
        }
        var isCurrent: Bool
        var isImported: Bool
        var unread: Int
        var awaited: [Awaited]
    }
    struct Summary: Decodable {
        var file: String
        var place: String
        var records: Int
    }
    struct File: Decodable {
        var summary: Summary
        var isInUse: Bool
        var suspended: String?
        var exchange: Exchange?
    }
    struct LocalStore: Decodable {
        var path: String
        var content: String
        var isGone: Bool
        var usesLocalStorage: Bool
        var files: [File]
    }
    struct Items: Decodable {
        var count: Int
        var byStatus: [String: Int]
    }
    struct Trouble: Decodable {
        var kind: String
        var subject: String
        var reason: String
        var store: String?
        var remedy: String
    }
    struct Failure: Decodable {
        var path: String
        var reason: String
    }
    struct Troubles: Decodable {
        var counts: [String: Int]
        var listed: [Trouble]
        var isWhole: Bool
        var failures: [Failure]
    }

    var presence: String
    var state: String
    var reasons: [String]
    var remedies: [String]
    var device: Device
    var attached: [String]
    var stores: [Store]
    var localStores: [LocalStore]
    var storage: [String: Amount]
    var items: Items
    var troubles: Troubles
}

extension ToolDevice {
    /// What `ubwatch status --json` prints of a container, and its exit status.
    func watched(_ container: FilePath? = nil, status: Int32 = 0, _ options: String...) async throws -> WatchedFacts {
        let outcome = try await Tool.run("ubwatch", ["status", "--json", "--home", home.string, (container ?? self.container).string] + options)
        try #require(outcome.status == status, "\(outcome)")
        let decoder = JSONDecoder()
        decoder.dateDecodingStrategy = .iso8601
        return try decoder.decode(WatchedFacts.self, from: Data(outcome.output.utf8))
    }

    /// Waits with `ubwatch wait`.
    func wait(until goal: String, _ options: String...) async throws -> Tool.Outcome {
        try await Tool.run("ubwatch", ["wait", "--until", goal, "--home", home.string, container.string] + options)
    }
}
