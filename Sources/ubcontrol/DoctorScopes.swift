import Foundation
import StoreInspection
import SystemPackage
import UbiquityContainers
import UbiquityStores

/// Finds problems of the public containers that a device home has keys for.
enum ScopeDiagnosis {
    /// Inspects the keys and the statements of each container.
    static func findings(in home: DeviceHome) -> [Finding] {
        let scopes = home.path.appending("scopes")
        guard let names = try? FileManager.default.contentsOfDirectory(atPath: scopes.string) else { return [] }
        return modes(below: scopes)
            + names.sorted().compactMap { ScopeIdentifier($0) }.flatMap { container in
                do {
                    return try findings(of: DeviceKeys(container, in: home))
                } catch {
                    let path = (error as? UbiquitousStoreError)?.path ?? scopes.appending(container.description)
                    return [Finding(.fault, .store, path, message: (error as? UbiquitousStoreError)?.message ?? "\(error)")]
                }
            }
    }

    /// Finds secrets that others than the user can read.
    private static func modes(below scopes: FilePath) -> [Finding] {
        let files = (try? FileManager.default.subpathsOfDirectory(atPath: scopes.string)) ?? []
        return files.filter { $0.hasSuffix(".key") }.sorted().compactMap { name in
            let path = scopes.pushing(FilePath(name))
            let attributes = try? FileManager.default.attributesOfItem(atPath: path.string)
            guard let mode = attributes?[.posixPermissions] as? Int, mode & 0o077 != 0 else { return nil }
            return Finding(
                .fault, .store, path, "others can read this secret key (mode \(String(mode, radix: 8)))",
                "run: chmod 600 FILE, and remove the device if somebody may have copied the key")
        }
    }

    private static func findings(of keys: DeviceKeys) throws -> [Finding] {
        guard let record = try keys.record else { return [] }
        let directory = FilePath(record.root).appending(DeviceKeys.readerName).appending(keys.container.description)
        guard FileManager.default.fileExists(atPath: directory.string) else {
            return [
                Finding(
                    .warning, .store, directory, "the public container is not there",
                    "wait for the synchroniser, or name its directory with --at once it is elsewhere")
            ]
        }
        var found: [Finding] = []
        let (device, identity) = (try keys.deviceKey, try keys.identityKey)
        let report = try PolicyReport(of: directory)
        if report.isForked {
            found.append(
                Finding(
                    .fault, .store, directory, "two policies of one number pause the tables of roles on every device",
                    "on the steward's device, run: ubcontrol public merge STORE"))
        }
        for base in report.awaited {
            found.append(
                Finding(
                    .warning, .store, directory, "a statement is not in effect, because its base \(base) is not here",
                    "wait for the synchroniser; the device that signed it must be connected"))
        }
        for fault in report.faults {
            found.append(
                Finding(
                    .warning, .store, directory.pushing(FilePath(fault.file)), "the statement has no effect: \(fault.reason)",
                    "nothing, if somebody has put it there; otherwise fetch it again"))
        }
        guard let account = record.account else { return found }
        guard device != nil else {
            return found + [
                Finding(
                    .fault, .store, directory, "the key of this device is missing, so nothing can be published",
                    "restore scopes/<container>/device.key of the device home, or enrol this device again")
            ]
        }
        let own = report.accounts.first { $0.account == account }
        if own?.devices.contains(record.peer) != true {
            found.append(
                Finding(
                    .fault, .store, directory, "this device is not enrolled in its account \(account), so it only reads",
                    "on another device of the account, run: ubcontrol account admit CONTAINER CODE, or see `ubcontrol account recover`"))
        }
        if let own, !own.isAdmitted {
            found.append(
                Finding(
                    .warning, .store, directory, "the account \(account) is not admitted, so nobody shows its records",
                    "give its identifier to a registrar, who runs: ubcontrol public admit CONTAINER ACCOUNT"))
        }
        if report.steward == record.peer, report.owesPolicy {
            found.append(
                Finding(
                    .warning, .store, directory, "a policy is owed: an account that holds a role has other devices than the policy knows",
                    "run the app that has the container open here; it signs the policy by itself"))
        }
        if report.owner == account, identity == nil {
            found.append(
                Finding(
                    .remark, .store, directory, "this device belongs to the container's owner and does not have the identity key",
                    "keep identity.key of the first device safe: it alone replaces a lost steward"))
        }
        return found
    }
}
