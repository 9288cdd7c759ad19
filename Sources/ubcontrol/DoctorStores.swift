import Foundation
import StoreInspection
import SystemPackage
import ToolSupport
import UbiquityContainers
import UbiquityStores

/// Finds problems of stores, and of their contents in containers.
enum StoreDiagnosis {
    /// Inspects the contents of all containers.
    ///
    /// - Parameters:
    ///   - diagnosis: the containers.
    ///   - isDeep: whether to read every file.
    ///   - progress: called for each file.
    /// - Returns: the findings.
    static func contents(of diagnosis: DeviceDiagnosis, isDeep: Bool, progress: @escaping () -> Void) -> [Finding] {
        var found: [Finding] = []
        for container in diagnosis.containers where container.place.kind == .directory && !container.marks.isEmpty {
            let path = container.place.path
            do {
                for store in try ContainerSurvey(of: path).stores { found += findings(of: store, in: path) }
                guard isDeep else { continue }
                let verification = try ContainerVerification(of: path) { _ in progress() }
                found += (verification.findings + verification.contents.flatMap(\.findings)).map { finding in
                    Finding(finding.kind == .remark ? .remark : .fault, .store, FilePath(finding.path), finding.detail, finding.remedy)
                }
            } catch {
                found.append(Finding(.fault, .store, path, "the stores' contents cannot be inspected: \(error)", "check owners and modes below it"))
            }
        }
        return found
    }

    private static func findings(of store: ContainerSurvey.Store, in container: FilePath) -> [Finding] {
        let content = container.appending(UbiquityContainer.storesName).pushing(FilePath(store.name))
        let remedy = "check owners and modes below it"
        if let fault = store.fault { return [Finding(.fault, .store, content, "the content cannot be inspected: \(fault)", remedy)] }
        var found: [Finding] = []
        if store.epoch == 0, !store.peers.isEmpty {
            found.append(
                Finding(
                    .warning, .store, content, "store \(store.name) has no epoch mark, so it is unknown which part of its content is current",
                    "wait for the synchroniser; see `ubwatch verify`"))
        }
        for peer in store.peers {
            let directory = content.appending(peer.peer)
            if let fault = peer.fault {
                found.append(Finding(.fault, .store, directory, "not all of this peer's files can be inspected: \(fault)", remedy))
            }
            if peer.isForked {
                found.append(
                    Finding(
                        .remark, .store, directory, "this peer has two logs of one number, as after a restored backup or a copied home",
                        "nothing: both are applied"))
            }
            let behind = peer.knowledge.reduce(0) { $0 + $1.behind }
            guard behind > 0 else { continue }
            let name = [peer.device, peer.app].compactMap { $0 }.joined(separator: ", ")
            let seen = peer.seen.map { ", and was last heard of \($0.formatted(.iso8601))" } ?? ""
            found.append(
                Finding(
                    .remark, .store, directory,
                    "\(name.isEmpty ? "this peer" : name) has not read \(behind) \(behind == 1 ? "log" : "logs") of others\(seen)",
                    "nothing, unless it should have by now; see `ubwatch status`"))
        }
        return found
    }

    /// Returns the reason why a store of this device does not exchange; nil if it does; a remark if its files are gone.
    static func finding(_ store: StoreCondition) -> Finding? {
        guard let hindrance = store.hindrance else { return nil }
        let path = FilePath(store.summary?.file ?? store.path)
        guard store.summary != nil else {
            return Finding(.remark, .store, path, "a store that an app has opened: \(hindrance)", "nothing, where the app is not in use any more")
        }
        let words = store.remedies.joined(separator: ", or: ")
        if store.isContentGone, !store.remedies.isEmpty {
            return Finding(.fault, .store, path, hindrance, "choose the answer, on each device: \(words) (\(StoreCondition.answers))")
        }
        return Finding(.fault, .store, path, hindrance, words.isEmpty ? "open the app" : "resume it with: \(words)")
    }

    /// Returns that changes of a store have not left this device; nil if they have, or nothing prevents it.
    static func delivery(_ store: StoreCondition) -> Finding? {
        guard let delivery = store.delivery, let text = delivery.text, let obstacle = delivery.obstacle else { return nil }
        return Finding(
            .warning, .store, FilePath(store.summary?.file ?? store.path), "\(text): \(obstacle)",
            "nothing, if a device or the network is only away; the changes leave by themselves then")
    }

    /// Returns the tables of a store that its app declares neither as synced nor as local.
    static func undeclared(_ store: StoreCondition) -> [Finding] {
        store.summary.map { summary in summary.undeclared.map { undeclared($0, in: FilePath(summary.file)) } } ?? []
    }

    private static func undeclared(_ table: String, in file: FilePath) -> Finding {
        let (detail, remedy) = UndeclaredTables.text(table)
        return Finding(.warning, .store, file, detail, remedy)
    }

    /// Checks one store file.
    ///
    /// - Parameters:
    ///   - path: the path that the app gave it, or the file itself.
    ///   - root: the directory of containers; nil while signed out.
    /// - Returns: the findings.
    static func store(at path: FilePath, root: FilePath?) -> [Finding] {
        do {
            return try InspectedStore.look(at: path) { findings(of: $0, at: path, root: root) }
        } catch {
            return [fault(error, of: path)]
        }
    }

    private static func fault(_ error: any Error, of path: FilePath) -> Finding {
        Finding(.fault, .store, path, "\(error)", "name the path that the app gave its store")
    }

    private static func findings(of inspection: InspectedStore, at path: FilePath, root: FilePath?) -> [Finding] {
        var found: [Finding] = []
        do {
            let file = inspection.file
            if let network = FileSystemFacts(at: file)?.network {
                found.append(
                    Finding(
                        .fault, .store, file, "the store lies on \(network), where SQLite's locks and its shared memory cannot be relied on",
                        "have the app keep it on a disk of this machine"))
            }
            let container = try root.map { try inspection.container(below: $0).path }
            let check = try inspection.check(container: container)
            found += check.problems.map { problem in
                Finding(
                    .fault, .store, file, "\(problem.kind.rawValue): \(problem.subject): \(problem.detail)",
                    "see: ubcontrol store check \(file.string.shellWord)")
            }
            found += check.undeclared.map { undeclared($0, in: file) }
            found += check.remarks.map { Finding(.remark, .store, file, $0, "nothing") }
            let quarantined = try inspection.quarantined()
            var names = PeerNames()
            if !quarantined.isEmpty, let container, let peers = try? inspection.peers(in: container) { names = PeerNames(peers) }
            found += quarantined.map { log in
                Finding(
                    .warning, .store, file, names.naming("cannot use \(log.file) of \(log.peer): \(log.reason)"),
                    "see: ubcontrol store quarantine list \(file.string.shellWord); what rests on it waits")
            }
            let held = try inspection.held().count
            if held > 0 {
                found.append(
                    Finding(
                        .remark, .store, file, "\(held) \(held == 1 ? "record is" : "records are") held",
                        "see: ubcontrol store held \(file.string.shellWord)"))
            }
        } catch {
            found.append(fault(error, of: path))
        }
        return found
    }
}
