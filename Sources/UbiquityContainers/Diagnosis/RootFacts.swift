internal import Foundation
package import SystemPackage

/// The condition of a containers root.
package struct RootFacts: Sendable {
    package var place: PathFacts
    /// Whether the user has chosen it.
    package var isChosen: Bool
    /// The root's path without symbolic links; nil if there is nothing.
    package var real: FilePath?
    package var fileSystem: FileSystemFacts?
    /// The entry in the root with the account's name.
    package var account: PathFacts?
    /// The number of directories in the account's containers.
    package var directories = 0
    /// The number of directories that all of this user's programs can watch; nil if unknown.
    package var watchLimit: Int?
    /// The state of Syncthing's rule against `*.nosync` above the root.
    package var rule: StignoreRule.Outcome = .noFolder

    package init(place: PathFacts, isChosen: Bool) {
        self.place = place
        self.isChosen = isChosen
    }

    /// Inspects an account's root; the walk through the containers counts directories.
    package init(of account: HomeFacts.Account) {
        self.init(place: account.root, isChosen: account.isRootChosen)
        let path = account.root.path
        guard !account.root.isSilent else { return }
        real = PathFacts.real(path)
        fileSystem = FileSystemFacts(at: path)
        self.account = PathFacts(at: path.appending(account.name))
        rule = StignoreRule.check(above: path, files: LinuxFileLayer())
        // The limits of inotify(7), and of the user namespace, see namespaces(7).
        watchLimit = ["/proc/sys/fs/inotify/max_user_watches", "/proc/sys/user/max_inotify_watches"].compactMap { file in
            (try? String(contentsOfFile: file, encoding: .utf8)).flatMap { Int($0.trimmingCharacters(in: .whitespacesAndNewlines)) }
        }.min()
    }
}

extension RootFacts {
    /// With less free space than this, a root counts as full; the logs of a few imports need it.
    private static let least: UInt64 = 64 << 20

    /// The problems of the root.
    package var findings: [Finding] {
        var found: [Finding] = []
        func report(_ severity: Finding.Severity, _ what: String, _ remedy: String, at path: FilePath? = nil) {
            found.append(Finding(severity, .root, path ?? place.path, what, remedy))
        }
        var isUsable = true
        switch place.kind {
        case .nothing where isChosen:
            report(
                .fault, "the containers root is not there", "mount or create it, or choose another with: ubcontrol sign-in ACCOUNT --containers DIR")
            isUsable = false
        // The first container creates it.
        case .nothing: isUsable = false
        case .hidden where place.isSilent:
            report(
                .fault, "the containers root does not answer: nothing leaves or reaches this device, and stores keep what they have",
                "check the server or the program that its file system depends on")
            isUsable = false
        case .hidden(let error):
            report(.fault, "the containers root cannot be inspected (\(error))", "check the owner and mode of its parent directory")
            isUsable = false
        case .directory: break
        case .link(let target) where real != nil:
            report(
                .warning, "the containers root is a symbolic link to \(target): it may lead elsewhere one day, and a synchroniser does not follow it",
                "sign in with the directory itself: ubcontrol sign-in ACCOUNT --containers \(real!)")
        case .link(let target):
            report(.fault, "the containers root is a symbolic link to \(target), where nothing is", "mount or create its target")
            isUsable = false
        case .file, .other:
            report(.fault, "the containers root is not a directory", "choose another with: ubcontrol sign-in ACCOUNT --containers DIR")
            isUsable = false
        }
        guard isUsable else { return found }
        if !place.isReadable || !place.isWritable {
            report(.fault, "the containers root cannot be \(place.isReadable ? "written" : "read") by this user", "check its owner and mode")
        }
        if let account { found += Self.findings(ofAccount: account) }
        if let fileSystem { found += findings(of: fileSystem) }
        if let watchLimit, directories > watchLimit {
            report(
                .warning,
                "the containers have \(directories) directories, and this user may watch \(watchLimit): the rest is swept, later and at more cost",
                "raise the limit: sysctl fs.inotify.max_user_watches=524288")
        } else if let watchLimit, directories > watchLimit / 2 {
            report(
                .remark, "the containers have \(directories) directories, and all of this user's programs together may watch \(watchLimit)",
                "raise the limit: sysctl fs.inotify.max_user_watches=524288")
        }
        if case .failed(let file, let error) = rule {
            let remedy = "put the line *.nosync before all others of .stignore, and before its #include lines"
            if error == .noSuchFileOrDirectory, account?.kind ?? .nothing == .nothing {
                report(
                    .remark, "the rule *.nosync is not there yet, but the account has no item yet that it would keep on this device",
                    "nothing: the account's first container puts it there", at: file)
            } else if error == .noSuchFileOrDirectory {
                report(.fault, "the rule *.nosync is missing, so Syncthing transfers items that must not leave this device", remedy, at: file)
            } else {
                report(.fault, "cannot be read (\(error)), so it is unknown whether *.nosync stays on this device", remedy, at: file)
            }
        }
        return found
    }

    private static func findings(ofAccount account: PathFacts) -> [Finding] {
        switch account.kind {
        case .nothing: return []
        case .directory where account.isReadable && account.isWritable: return []
        case .directory:
            let verb = account.isReadable ? "written" : "read"
            return [Finding(.fault, .root, account.path, "the account's directory cannot be \(verb) by this user", "check its owner and mode")]
        case .link:
            return [
                Finding(
                    .fault, .root, account.path, "the account's directory is a symbolic link, which no synchroniser follows",
                    "put the directory itself there, or choose another root with: ubcontrol sign-in ACCOUNT --containers DIR")
            ]
        case .hidden, .file, .other:
            return [Finding(.fault, .root, account.path, "the account's directory cannot be used as one", "move the existing entry aside")]
        }
    }

    private func findings(of fileSystem: FileSystemFacts) -> [Finding] {
        var found: [Finding] = []
        func report(_ severity: Finding.Severity, _ what: String, _ remedy: String) {
            found.append(Finding(severity, .root, place.path, what, remedy))
        }
        if let name = fileSystem.network {
            report(
                .warning,
                "the containers root lies on \(name): this machine is not told of changes by other machines, so the root is swept for changes",
                "keep the root on a disk of this machine, and let a synchroniser copy it")
        } else if fileSystem.isFUSE {
            report(
                .remark, "the containers root lies on FUSE: this machine is not told of changes by other machines",
                "keep it on a disk of this machine where they do")
        }
        if fileSystem.foldsCase {
            report(.remark, "names that differ in case only are one name here", "nothing, unless a container has such names elsewhere")
        }
        let room = Int64(clamping: fileSystem.available).formatted(.byteCount(style: .file))
        if fileSystem.available < 1 << 20 {
            report(.fault, "the disk or this user's quota is full: \(room) left", "make room")
        } else if fileSystem.available < Self.least {
            report(.warning, "the disk or this user's quota is nearly full: \(room) left", "make room")
        }
        if fileSystem.files > 0, fileSystem.freeFiles < 1000 {
            report(
                fileSystem.freeFiles == 0 ? .fault : .warning, "the disk has room for \(fileSystem.freeFiles) more files only", "remove files")
        }
        return found
    }
}
