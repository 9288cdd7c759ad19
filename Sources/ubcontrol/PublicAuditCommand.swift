import ArgumentParser
import Foundation
import StoreInspection
import SystemPackage
import ToolSupport
import UbiquityStores

/// Runs `ubcontrol public audit`.
struct PublicAuditCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "audit",
        abstract: "Check that the snapshots of a public place are what its logs say.",
        discussion: """
            Readers trust a publisher with snapshots, which have no proof for each record. The audit reads the place from its oldest snapshots on, \
            verifies each log, and compares what the logs give with each later snapshot, record by record. It can look back as far as the place \
            keeps files, 90 days. The store tells the container and its tables; if it reads the place itself, the audit also checks that its head \
            is one of the publisher's. Exit status 0 if everything is as the logs say, 1 if not.
            """
    )

    @OptionGroup var store: StoreArgument

    @Option(
        name: .customLong("at"),
        help: ArgumentHelp("The directory of the public place, or its address, such as https://game.example/public.", valueName: "place"),
        completion: .directory)
    var place: String

    @Flag(help: "Print a JSON object: from, to (heads), audited and unproved (heads), records, skipped (tables), contradicted (head), findings.")
    var json = false

    func run() async throws {
        let facts = try InspectedStore(try store.path, readOnly: true).placeFacts()
        let scratch = FilePath(FileManager.default.temporaryDirectory.path).appending("ubiquity-audit-\(UUID().uuidString)")
        try FileManager.default.createDirectory(atPath: scratch.string, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: scratch.string) }
        let audit = try await TerminalProgress.awaiting { progress in
            let auditor = PlaceAuditor(
                address: address, container: facts.container, contentName: facts.contentName, schema: facts.schema, seen: facts.state,
                scratch: scratch
            ) { progress.show($0) }
            return try await auditor.audit()
        }
        try report(audit)
        if !audit.isSound { throw ExitCode(1) }
    }

    /// The address of the place; a path is one of a directory.
    private var address: String { place.contains("://") ? place : URL(filePath: place).absoluteString }

    private func report(_ audit: PlaceAudit) throws {
        if json { return try printJSON(Report(audit)) }
        if audit.audited.isEmpty, audit.unproved.isEmpty {
            print("Heads \(audit.heads.lowerBound) to \(audit.heads.upperBound) have no two snapshots, so there is nothing to compare yet.")
        } else if !audit.audited.isEmpty {
            print(
                "Compared \(audit.records) records of the snapshots of heads \(audit.audited.map(String.init).joined(separator: ", ")) with the logs since head \(audit.heads.lowerBound)."
            )
        }
        if !audit.unproved.isEmpty {
            print(
                "The place lacks logs before the snapshots of heads \(audit.unproved.map(String.init).joined(separator: ", ")), which nothing proves."
            )
        }
        if !audit.skipped.isEmpty {
            print("The store does not have the tables \(audit.skipped.sorted().joined(separator: ", ")), which were left out.".printable)
        }
        if let head = audit.contradicted {
            print("The store has read a head \(head) that is not the publisher's head \(head): it has signed two.")
        }
        for finding in audit.findings {
            let key = finding.key.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }.joined(separator: ", ")
            print("head \(finding.head): \(finding.table) \(key): \(finding.words)".printable)
        }
        if audit.isSound, !audit.audited.isEmpty { print("Everything is as the logs say.") }
    }

    private struct Report: Encodable {
        struct Finding: Encodable {
            var head: Int64
            var table: String
            var key: [String: String]
            var kind: String
        }

        var from: Int64
        var to: Int64
        var audited: [Int64]
        var unproved: [Int64]
        var records: Int64
        var skipped: [String]
        var contradicted: Int64?
        var findings: [Finding]

        init(_ audit: PlaceAudit) {
            (from, to) = (audit.heads.lowerBound, audit.heads.upperBound)
            (audited, unproved) = (audit.audited, audit.unproved)
            (records, skipped, contradicted) = (audit.records, audit.skipped.sorted(), audit.contradicted)
            findings = audit.findings.map {
                Finding(head: $0.head, table: $0.table, key: $0.key, kind: $0.kind)
            }
        }
    }
}
