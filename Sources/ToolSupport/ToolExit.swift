package import ArgumentParser

/// The exit statuses of the tools, in one place: a status means the same in each of them.
package enum ToolExit {
    /// It could not be done, or not all is well.
    package static let failure = ExitCode(1)
    /// The container is gone: it has been wiped, or is not there any more.
    package static let gone = ExitCode(3)
    /// What somebody waits for was not so in time.
    package static let timedOut = ExitCode(4)
    /// Something was found that needs a person.
    package static let troubles = ExitCode(5)
    /// The command line is wrong, or names what is not here; EX_USAGE of sysexits.h.
    package static let usage = ExitCode.validationFailure
    /// The broker does not answer; EX_UNAVAILABLE of sysexits.h.
    package static let unavailable = ExitCode(69)

    /// The statuses for a tool's help.
    package static let table = """
        Exit status, of every command of ubcontrol, ubwatch and ubiquityd:
          0   it is done, or all is well
          1   it could not be done, or not all is well; what is the matter is said
          3   the container is gone: wiped, or not there any more
          4   what was waited for was not so in time
          5   something is in conflict, held, quarantined or set aside
          64  the command line is wrong or names what is not here, or --yes is missing where nobody can be asked
          69  the broker of file coordination does not answer, or cannot serve
        """
}

/// A command that is refused for what it names or lacks, once it has been understood: told in one line, without a usage line.
package struct Refusal: Error, CustomStringConvertible {
    /// What is refused, and what to do.
    package let description: String
    /// How the tool ends.
    package let status: ExitCode

    /// - Parameters:
    ///   - description: what is refused, and what to do.
    ///   - status: how the tool ends.
    package init(_ description: String, status: ExitCode = ToolExit.usage) {
        self.description = description
        self.status = status
    }
}
